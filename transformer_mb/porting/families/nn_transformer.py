"""What torch.nn.Transformer and paddle.nn.Transformer share: stacks of layers without embeddings and output.

Both call their layers alike once torch's packed projections are split. A file may hold the embeddings and the output
that a user's own module put around the stacks: the settings name them (``source_embedding``, ``target_embedding``,
``output``). Without them unit vectors stand in: token i is the i-th axis of the model, positions add nothing, and the
logits are the decoder's output, so that the ported model computes exactly what the stacks do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ...errors import PortError
from ..model import Arrays, NativeFile, PortedModel, renamed_moments
from ..settings import check_holds
from .inferred_fields import inferred_fields
from .layer_names import LayerNames, projections
from .named_tensors import check_fractions, model_of
from .naming_schemes import is_matrix

LAYER = re.compile(r"^(?P<prefix>.*?)(?:(?P<side>encoder|decoder)\.)?layers\.\d+\.linear1\.weight$")
# The setting that names a layer around the stacks, which is also its name when we write it, and its canonical name.
AROUND = {"source_embedding": "encoder.embedding", "target_embedding": "decoder.embedding", "output": "decoder.dense"}
POSITIONS = {"source_positions": "encoder.pos_embedding", "target_positions": "decoder.pos_embedding"}
STAND_IN_LEN = 512
NEEDED = {
    "norm_kind": "layer_norm",
    "norm_affine": True,
    "ffn_bias": True,
    "embedding_norm": False,
    "token_types": 0,
    "encoder_attention_bias": True,
    "activation": ("relu", "gelu"),
    "has_encoder": True,
}
NEEDED_OF_DECODERS = {"decoder_attention_bias": True, "final_norm": True}
STAND_IN_NOTE = (
    "The file holds no embeddings: unit vectors stand in, token i being axis i, and {outputs} come out unprojected. Name the "
    "tensors with source_embedding, target_embedding and output in the settings if the file has them."
)
AROUND_NOTE = (
    "The file holds the stacks, not the module around them: embeddings, positions and output were computed by this "
    "project's own formula on both sides of the proof: embedding_scale and position are only as sure as the settings."
)


def unchanged(arrays: Arrays) -> Arrays:
    return arrays


@dataclass(frozen=True, kw_only=True)
class Stacks:
    """One framework's class.

    Attributes:
        title: what it is called. cross: what its decoder calls its second attention. transposed: Linear weights are [in, out].
        packed, split: of native arrays, from separate projections to its own and back.
    """

    title: str
    cross: str
    transposed: bool
    packed: Callable[[Arrays], Arrays] = field(default=unchanged)
    split: Callable[[Arrays], Arrays] = field(default=unchanged)

    @property
    def names(self) -> LayerNames:
        feed_forward = {"ffn.dense1": "linear1", "ffn.dense2": "linear2"}
        norms = {f"addnorm{number}.ln": f"norm{number}" for number in (1, 2, 3)}
        decoder = {**projections("attention1", "self_attn"), **projections("attention2", self.cross)}
        blocks = {
            "encoder": {**projections("attention", "self_attn"), **norms, **feed_forward},
            "decoder": {**decoder, **norms, **feed_forward},
        }
        outer = {f"{side}.norm": f"{side}.norm" for side in blocks}
        return LayerNames(block="{side}.layers.{number}.", blocks=blocks, outer=outer)


def prefix_of(names: Any) -> str | None:
    """What stands before the stacks' names; None when there are none."""
    matches = [match for name in names if (match := LAYER.match(name))]
    return matches[0]["prefix"] if matches else None


def read(native: NativeFile, settings: Mapping[str, Any], stacks: Stacks) -> PortedModel:
    check_fractions(native.tensors)
    known = {**native.settings, **settings}
    prefix = prefix_of(native.tensors)
    if prefix is None:
        raise PortError("Layers must be called layers.0.linear1.weight and so on, got none.")
    around = _around(native.tensors, known)
    single = not any(name.startswith((f"{prefix}encoder.", f"{prefix}decoder.")) for name in native.tensors)
    canonical = partial(_canonical, stacks=stacks, prefix=prefix, single=single, around=around)
    weights = canonical(native.tensors)
    if any(f"{name}.weight" in weights for name in AROUND.values()):
        fields = inferred_fields(weights, known)
        return model_of(native, weights, fields, settings, {}, canonical, [AROUND_NOTE])
    weights |= _stand_ins(weights)
    fields = {**inferred_fields(weights, known), "position": "learned", "max_len": STAND_IN_LEN}
    settings = {name: value for name, value in settings.items() if name not in ("position", "max_len")}
    note = STAND_IN_NOTE.format(outputs="decoder outputs" if "target_vocab_size" in fields else "encoder outputs")
    return model_of(native, weights, fields, settings, {"embedding_scale": False}, canonical, [note])


def _around(tensors: Arrays, settings: Mapping[str, Any]) -> dict[str, str]:
    """Native layer to canonical layer, for what lies around the stacks."""
    around = {}
    for setting, layer in {**AROUND, **POSITIONS}.items():
        name = settings.get(setting, setting if f"{setting}.weight" in tensors else None)
        if name is None:
            continue
        name = str(name).removesuffix(".weight")
        if f"{name}.weight" not in tensors:
            raise PortError(f"{setting} names {name}.weight, but the file holds no such tensor.")
        around[name] = layer
    return around


def _canonical(tensors: Arrays, stacks: Stacks, prefix: str, single: bool, around: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Arrays by canonical name; what is unknown keeps its name, so that the check lists it."""
    weights: dict[str, np.ndarray] = {}
    for native, array in stacks.split(tensors).items():
        layer, _, leaf = native.rpartition(".")
        own = f"{'encoder.' if single else ''}{native.removeprefix(prefix)}"
        name = f"{around[layer]}.{leaf}" if layer in around else stacks.names.canonical(own)
        weights[name] = np.ascontiguousarray(array.T) if stacks.transposed and is_matrix(name) else array
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
    """Whether the embeddings are the unit vectors that ``read`` puts in."""
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


def write(model: PortedModel, format_name: str, stacks: Stacks) -> NativeFile:
    """The stacks alone where unit vectors stand in for the rest; else as ``transformer.`` beside it."""
    check_holds(model.config, {**NEEDED, **(NEEDED_OF_DECODERS if model.config.has_decoder else {})}, stacks.title)
    if model.config.has_decoder and model.config.decoder_num_heads != model.config.encoder_num_heads:
        numbers = f"{model.config.encoder_num_heads} and {model.config.decoder_num_heads}"
        raise PortError(f"{stacks.title} cannot hold this model: both sides must have as many heads, got {numbers}.")
    alone = is_stand_in(model)
    native = partial(_native, stacks=stacks, alone=alone, has_decoder=model.config.has_decoder)
    optimizer = None if alone or model.optimizer is None else renamed_moments(model.optimizer, native)
    return NativeFile(format=format_name, tensors=native(model.weights), optimizer=optimizer)


def _native(arrays: Arrays, stacks: Stacks, alone: bool, has_decoder: bool) -> Arrays:
    around = {canonical: native for native, canonical in {**AROUND, **POSITIONS}.items()}
    tensors = {}
    for name, array in arrays.items():
        layer, _, leaf = name.rpartition(".")
        laid = np.ascontiguousarray(array.T) if stacks.transposed and is_matrix(name) else array
        if layer not in around:
            own = stacks.names.tensor(name)
            tensors[f"{'' if alone else 'transformer.'}{own if has_decoder else own.removeprefix('encoder.')}"] = laid
        elif not alone:
            tensors[f"{around[layer]}.{leaf}"] = laid
    return stacks.packed(tensors)
