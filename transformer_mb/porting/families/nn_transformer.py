"""Parts that torch.nn.Transformer and paddle.nn.Transformer share: stacks of layers without embeddings and output.

Both call their layers alike once torch's packed projections are split. A file may hold the embeddings and the output
that a user's own module put around the stacks: the settings name them (see ``stack_layout.AROUND``). Without them unit
vectors stand in: token i is the i-th axis of the model, positions add nothing, and the logits are the decoder's output, so
that the ported model computes exactly what the stacks do. A single stack is an encoder, or where the settings say so
(``architecture``) a decoder: the same layers, called with a causal mask.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ...errors import PortError
from ..kinds import Settings
from ..model import Arrays, NativeFile, PortedModel, renamed_moments
from ..settings import check_holds, usual
from .inferred_fields import inferred_fields
from .named_tensors import check_fractions, model_of
from .naming_schemes import LayerNames, is_matrix, projections, untied
from .position_tables import PositionTables, causal_masks, check_ignored, position_tables
from .stack_layout import AROUND, StackLayout, flat_table, layout_of

STAND_IN_LEN = 512
NEEDED = {**usual("norm_kind", "norm_affine", "ffn_bias", "embedding_norm", "token_types"), "activation": ("relu", "gelu")}
HINT = (
    "name it with source_positions and target_positions in the settings, as learned positions, of which nothing is lost; "
    "ignore is not for it."
)
STAND_IN_NOTE = (
    "The file holds no embeddings: unit vectors stand in, token i being axis i, and {outputs} come out unprojected. Name the "
    "tensors with source_embedding, target_embedding and output in the settings if the file has them."
)
AROUND_NOTE = (
    "The file holds the stacks, not the module around them: embeddings, positions and output were computed by this "
    "project's own formula on both sides of the proof: embedding_scale and position are only as sure as the settings. {masks}"
)
SINGLE_NOTES = {
    "encoder": "The file has one stack without cross-attention, read as an encoder: it was called without a mask but for "
    'padding, so that each position sees all others. Say "architecture": "decoder" if it is called with a causal mask.',
    "decoder": "The file has one stack without cross-attention, read as a decoder, as architecture says: it was called with a "
    "causal mask.",
}
# What both frameworks' constructors take first: of one layer, and of two stacks.
SIZES = "{num_hiddens}, {heads}, {ffn_num_hiddens}, {dropout}, {activation!r}"
SIZES_OF_BOTH = (
    "{num_hiddens}, {encoder_num_heads}, {encoder_num_layers}, {decoder_num_layers}, {ffn_num_hiddens}, {dropout}, "
    "{activation!r}"
)
ORDER = (
    *("transformer", *AROUND, "encoder", "decoder", "layers", "norm"),
    *("self_attn", "multihead_attn", "cross_attn", "linear1", "linear2", "norm1", "norm2", "norm3"),
    *("in_proj_weight", "in_proj_bias", "q_proj", "k_proj", "v_proj", "out_proj", "weight", "bias"),
)
BOTH_MASKS = "The encoder was called without a mask but for padding, the decoder with a causal one."


def unchanged(arrays: Arrays) -> Arrays:
    return arrays


@dataclass(frozen=True, kw_only=True)
class Stacks:
    """A framework's class of stacks.

    Attributes:
        title: what it is called. cross: what its decoder calls its second attention. transposed: Linear weights are [in, out].
        packed, split: of native arrays, from separate projections to its own and back.
        both, stack, final_norm: constructors, in which fields of a TransformerConfig stand by name, whether norms come first
            as ``pre``, and of one stack its ``kind`` (Encoder or Decoder), ``heads`` and ``layers``.
        first: what comes first in the constructor of both, before stacks of its own. no_bias: an option of a Linear.
        dictionary: its class of layers by name. load: the lines that load a model's file.
        other_epsilon: lines for another one than the default, where the constructors take none.
    """

    framework: str
    title: str
    cross: str
    transposed: bool
    both: str
    stack: str
    final_norm: str
    dictionary: str
    load: Callable[[PortedModel], tuple[str, ...]]
    first: str = ""
    no_bias: str = "bias=False"
    other_epsilon: tuple[str, ...] = ()
    packed: Callable[[Arrays], Arrays] = field(default=unchanged)
    split: Callable[[Arrays], Arrays] = field(default=unchanged)

    def names(self, both: bool) -> LayerNames:
        """``both``: there is an encoder beside the decoder, whose layers else are those of an encoder."""
        feed_forward = {"ffn.dense1": "linear1", "ffn.dense2": "linear2"}
        norms = {f"addnorm{number}.ln": f"norm{number}" for number in (1, 2, 3)}
        alone = {**projections("attention1", "self_attn"), "addnorm1.ln": "norm1", "addnorm3.ln": "norm2"}
        cross = {**projections("attention1", "self_attn"), **projections("attention2", self.cross), **norms}
        blocks = {
            "encoder": {**projections("attention", "self_attn"), **norms, **feed_forward},
            "decoder": {**(cross if both else alone), **feed_forward},
        }
        outer = {f"{side}.norm": f"{side}.norm" for side in blocks}
        return LayerNames(block="{side}.layers.{number}.", blocks=blocks, outer=outer)


def read(native: NativeFile, settings: Settings, *, stacks: Stacks) -> PortedModel:
    if "linear_layout" in settings:
        raise PortError(f"linear_layout must be absent for {stacks.title}, whose framework tells how its Linear weights lie.")
    known = {**native.settings, **settings}
    layout = layout_of(native.tensors, known, stacks.cross)
    masks = _masks(native, layout, known)
    native = replace(native, tensors={name: array for name, array in native.tensors.items() if name not in masks})
    check_fractions(native.tensors)
    tables = _positions(native, layout, known)
    twins = _second_names(native.tensors, layout)
    read_in = replace(
        native, tensors={n: array for n, array in native.tensors.items() if n not in tables.names and n not in twins}
    )
    canonical = partial(_canonical, stacks=stacks, layout=layout)
    weights = canonical(read_in.tensors)
    _check_norms(weights, layout)
    unseen: dict[str, bool] = {} if layout.single is None else {"architecture": False}
    notes = [] if layout.single is None or "architecture" in native.settings else [SINGLE_NOTES[layout.single]]
    notes += [f"{name}: a causal mask, which is computed here and not stored." for name in masks]
    if layout.around:
        _check_embedded(weights, layout)
        weights, shared = untied(weights, known)
        fields = inferred_fields(weights, known) | dict(tables.fields or {})
        again = [f"{name} equals {first} in every bit: one tensor of two names." for name, first in twins.items()]
        around_note = AROUND_NOTE.format(masks=BOTH_MASKS if layout.single is None else "").rstrip()
        notes = [around_note, *notes, *tables.notes, *again, *shared]
        model = model_of(read_in, weights, fields, settings, {}, canonical, notes)
        return replace(model, shown={**unseen, **dict.fromkeys(tables.fields or {}, True)})
    weights |= _stand_ins(weights)
    fields = {**inferred_fields(weights, known), "position": "learned", "max_len": STAND_IN_LEN}
    settings = {name: value for name, value in settings.items() if name not in ("position", "max_len")}
    note = STAND_IN_NOTE.format(outputs="encoder outputs" if layout.single == "encoder" else "decoder outputs")
    model = model_of(read_in, weights, fields, settings, {"embedding_scale": False}, canonical, [note, *notes])
    return replace(model, shown=unseen)


def _masks(native: NativeFile, layout: StackLayout, known: Settings) -> list[str]:
    """Causal masks beside the stacks, which a single stack must have been called with unless the settings say otherwise."""
    masks = causal_masks({**beside(native.tensors, layout), **native.ignored})
    if masks and layout.single == "encoder" and "architecture" not in known:
        shape = list({**native.tensors, **native.ignored}[masks[0]].shape)
        raise PortError(
            f"architecture must be in the settings where a single stack has a causal mask beside it, {masks[0]} {shape}: say "
            '"architecture": "decoder" if its layers are called with it, as a language model\'s are, or "architecture": '
            '"encoder" if they see all positions.'
        )
    return [name for name in masks if name in native.tensors]


def _positions(native: NativeFile, layout: StackLayout, known: Settings) -> PositionTables:
    """Find positions in what is no layer, and in what ``ignore`` took out: a table unread may be another than ours."""
    named = set(layout.around.values())
    layers = {name.rpartition(".")[0] for name in named if "." in name}
    if halved := [name for name in native.ignored if name in named or name.rpartition(".")[0] in layers]:
        raise PortError(
            f"ignore is for buffers, but it names a part of a layer that the settings name: {', '.join(halved):.300}."
        )
    width, others = layout.width(native.tensors), {**beside(native.tensors, layout), **native.ignored}
    tables = position_tables(others, width, known, HINT)
    if layout.around and tables.table is None:
        check_ignored(native.ignored, {name: native.tensors[name] for name in named}, width, known)
    return tables


def beside(tensors: Arrays, layout: StackLayout) -> dict[str, np.ndarray]:
    """Return the tensors that are neither a part of the stacks nor named by the settings."""
    named = set(layout.around.values())
    return {name: array for name, array in tensors.items() if name not in named and layout.inner(name) is None}


def _second_names(tensors: Arrays, layout: StackLayout) -> dict[str, str]:
    """Find unnamed tensors that are a named table once more: torch saves a shared tensor under each of its names."""
    tables = [name for name in layout.around.values() if tensors[name].ndim == 2]
    twins = {}
    for name, array in beside(tensors, layout).items():
        if first := next((one for one in tables if np.array_equal(tensors[one], array)), None):
            twins[name] = first
    return twins


def _check_norms(weights: Arrays, layout: StackLayout) -> None:
    """Refuse a final norm of one side alone: one field speaks of both."""
    have = {side: f"{side}.norm.weight" in weights for side in layout.stems}
    if len(set(have.values())) > 1:
        listed = ", ".join(f"{'one' if there else 'none'} after the {side}" for side, there in have.items())
        raise PortError(
            f"There must be a final norm after both stacks or after none, got {listed}. If it has a name of its own, "
            "say it with source_norm or target_norm."
        )


def _check_embedded(weights: Arrays, layout: StackLayout) -> None:
    side = next(iter(layout.stems))
    if f"{side}.embedding.weight" not in weights:
        setting = "source_embedding" if side == "encoder" else "target_embedding"
        others = ", ".join(layout.around.values())
        raise PortError(f"The settings must name the embedding of the {side} ({setting}) where they name {others:.300}.")


def _canonical(tensors: Arrays, stacks: Stacks, layout: StackLayout) -> dict[str, np.ndarray]:
    """Arrays by canonical name; what is unknown keeps its name, so that the check lists it. One may stand for two layers."""
    weights: dict[str, np.ndarray] = {}
    roles: dict[str, list[str]] = {}
    for name, native in layout.around.items():
        roles.setdefault(native, []).append(name)
    names = stacks.names(both=layout.single is None)
    for native, array in stacks.split(tensors).items():
        inner = layout.inner(native)
        for name in roles.get(native) or [names.canonical(f"{inner[0]}.{inner[1]}") if inner else native]:
            if name in weights:
                raise PortError(f"Two tensors of the file mean {name}; one of them is {native!r:.80}.")
            flat = flat_table(array) if name.endswith(".pos_embedding.weight") else array
            weights[name] = np.ascontiguousarray(flat.T) if stacks.transposed and is_matrix(name) else flat
    for name in [name for name in weights if re.search(r"(\.ln|^(en|de)coder\.norm)\.weight$", name)]:
        # Layers built with bias=False leave it out of their normalisations too.
        weights.setdefault(f"{name.removesuffix('weight')}bias", np.zeros_like(weights[name]))
    return weights


def _stand_ins(weights: Arrays) -> dict[str, np.ndarray]:
    """Unit vectors for embeddings and output, and positions that add nothing."""
    norms = [array for name, array in weights.items() if name.endswith(".ln.weight") and array.ndim == 1]
    width, dtype = (norms[0].size, norms[0].dtype) if norms else (0, np.dtype(np.float32))
    if not 4 <= width <= 1 << 16:
        raise PortError(f"The width must be from 4 to {1 << 16} for unit vectors to stand in for embeddings, got {width}.")
    layers = {}
    for side in ("encoder", "decoder"):
        if any(name.startswith(f"{side}.blks.") for name in weights):
            layers[f"{side}.embedding.weight"] = np.eye(width, dtype=dtype)
            layers[f"{side}.pos_embedding.weight"] = np.zeros((STAND_IN_LEN, width), dtype)
    if "decoder.embedding.weight" in layers:
        layers["decoder.dense.weight"] = np.eye(width, dtype=dtype)
    return layers


def is_stand_in(model: PortedModel) -> bool:
    """Tell whether the embeddings are the unit vectors that ``read`` puts in."""
    tables = [array for name, array in model.weights.items() if name.endswith("r.embedding.weight")]
    output = model.weights.get("decoder.dense.weight")
    positions = [array for name, array in model.weights.items() if name.endswith(".pos_embedding.weight")]
    square = [*tables, *([] if output is None else [output])]
    return (
        bool(positions)
        and all(array.shape[0] == array.shape[1] and np.array_equal(array, np.eye(len(array))) for array in square)
        and not any(array.any() for array in positions)
        and "decoder.dense.bias" not in model.weights
        and not model.config.embedding_scale
    )


def write(model: PortedModel, format_name: str, settings: Settings, *, stacks: Stacks) -> NativeFile:
    """The stacks alone where unit vectors stand in for the rest; else as ``transformer.`` beside it."""
    config = model.config
    biases = {f"{side}_attention_bias": True for side in ("encoder", "decoder") if getattr(config, f"has_{side}")}
    check_holds(config, {**NEEDED, **biases}, stacks.title)
    alone = is_stand_in(model)
    native = partial(_native, stacks=stacks, alone=alone, both=config.has_encoder and config.has_decoder)
    optimizer = None if alone or model.optimizer is None else renamed_moments(model.optimizer, native)
    return NativeFile(format=format_name, tensors=native(model.weights), optimizer=optimizer, betas=model.betas)


def _native(arrays: Arrays, stacks: Stacks, alone: bool, both: bool) -> Arrays:
    around = {canonical: native for native, canonical in AROUND.items() if not native.endswith("_norm")}
    names = stacks.names(both)
    tensors = {}
    for name, array in arrays.items():
        layer, _, leaf = name.rpartition(".")
        laid = np.ascontiguousarray(array.T) if stacks.transposed and is_matrix(name) else array
        if layer not in around:
            own = names.tensor(name)
            tensors[f"{'' if alone else 'transformer.'}{own if both else own.partition('.')[2]}"] = laid
        elif not alone:
            tensors[f"{around[layer]}.{leaf}"] = laid
    packed = stacks.packed(tensors)
    return {name: packed[name] for name in sorted(packed, key=_registered)}


def _registered(name: str) -> list[int]:
    """Rank a tensor as both frameworks register it, and so as their optimizers number it: sublayers before norms."""
    return [int(level) if level.isdecimal() else ORDER.index(level) for level in name.split(".")]
