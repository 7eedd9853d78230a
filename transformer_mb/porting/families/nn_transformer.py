"""What torch.nn.Transformer and paddle.nn.Transformer share: stacks of layers without embeddings and output.

Both call their layers alike once torch's packed projections are split. A file may hold the embeddings and the output
that a user's own module put around the stacks: the settings name them (``source_embedding``, ``target_embedding``,
``output``). Without them unit vectors stand in: token i is the i-th axis of the model, positions add nothing, and the
logits are the decoder's output, so that the ported model computes exactly what the stacks do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...errors import PortError, WeightsError
from ...parameters import check_weights, parameter_shapes
from ..model import Arrays, NativeFile, PortedModel
from ..settings import check_sizes, made_config, vocabularies
from .d2l import check_fractions, found_fields
from .naming_schemes import is_matrix

LAYER = re.compile(r"^(?P<prefix>.*?)(?:(?P<side>encoder|decoder)\.)?layers\.\d+\.linear1\.weight$")
WORDS = {
    "encoder": {"attention": "self_attn", "addnorm1.ln": "norm1", "addnorm2.ln": "norm2"},
    "decoder": {"attention1": "self_attn", "addnorm1.ln": "norm1", "addnorm2.ln": "norm2", "addnorm3.ln": "norm3"},
}
SHARED_WORDS = {"ffn.dense1": "linear1", "ffn.dense2": "linear2"}
PROJECTIONS = {"W_q": "q_proj", "W_k": "k_proj", "W_v": "v_proj", "W_o": "out_proj"}
# The setting that names a layer around the stacks, which is also its name when we write it, and its canonical name.
AROUND = {"source_embedding": "encoder.embedding", "target_embedding": "decoder.embedding", "output": "decoder.dense"}
POSITIONS = {"source_positions": "encoder.pos_embedding", "target_positions": "decoder.pos_embedding"}
STAND_IN_LEN = 512
REQUIRED = {"norm_kind": "layer_norm", "norm_affine": True, "ffn_bias": True, "embedding_norm": False, "token_types": 0}
STAND_IN_NOTE = (
    "The file holds no embeddings: unit vectors stand in, token i being axis i, and {outputs} come out unprojected. Name the "
    "tensors with source_embedding, target_embedding and output in --config if the file has them."
)
AROUND_NOTE = (
    "The file holds the stacks, not the module around them: embeddings, positions and output were computed by this "
    "project's own formula on both sides of the proof: embedding_scale and position are only as sure as what is said of them."
)


def prefix_of(names: Any) -> str | None:
    """What stands before the stacks' names; None when there are none."""
    matches = [match for name in names if (match := LAYER.match(name))]
    return matches[0]["prefix"] if matches else None


def read(native: NativeFile, settings: Mapping[str, Any], cross: str, transposed: bool) -> PortedModel:
    """``native`` with split projections; ``cross`` is what the decoder calls its second attention."""
    check_fractions(native)
    said = {**native.settings, **settings}
    prefix = prefix_of(native.tensors)
    if prefix is None:
        raise PortError("Layers called layers.0.linear1.weight and so on were expected, but there are none.")
    around = _around(native.tensors, said)
    weights = _canonical(native.tensors, prefix, cross, transposed, around)
    weights, stand_ins = _with_stand_ins(weights, said)
    fields = found_fields(weights, said)
    if stand_ins:
        fields |= {"position": "learned", "max_len": STAND_IN_LEN}
        settings = {name: value for name, value in settings.items() if name not in ("position", "max_len")}
    config = made_config(fields, settings, {"embedding_scale": False} if stand_ins else {}, native.settings)
    check_sizes(config, len(weights))
    try:
        check_weights(weights, parameter_shapes(config), "The configuration")
    except WeightsError as error:
        raise PortError(str(error)) from None
    optimizer, notes = _optimizer(native, prefix, cross, transposed, around, weights)
    outputs = "decoder outputs" if config.has_decoder else "encoder outputs"
    around_notes = (STAND_IN_NOTE.format(outputs=outputs),) if stand_ins else (AROUND_NOTE,)
    return PortedModel(
        config=config,
        weights={name: weights[name] for name in parameter_shapes(config)},
        optimizer=optimizer,
        notes=(*native.notes, *around_notes, *notes),
        **vocabularies(settings),
    )


def _around(tensors: Arrays, settings: Mapping[str, Any]) -> dict[str, str]:
    """Native layer to canonical layer, for what lies around the stacks."""
    found = {}
    for setting, layer in {**AROUND, **POSITIONS}.items():
        name = settings.get(setting, setting if f"{setting}.weight" in tensors else None)
        if name is None:
            continue
        name = str(name).removesuffix(".weight")
        if f"{name}.weight" not in tensors:
            raise PortError(f"{setting} names {name}.weight, but the file holds no such tensor.")
        found[name] = layer
    return found


def _canonical(tensors: Arrays, prefix: str, cross: str, transposed: bool, around: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Arrays by canonical name; what is unknown keeps its name, so that the check lists it."""
    weights: dict[str, np.ndarray] = {}
    single = not any(name.startswith((f"{prefix}encoder.", f"{prefix}decoder.")) for name in tensors)
    for name, array in tensors.items():
        layer, _, leaf = name.rpartition(".")
        meaning = f"{around[layer]}.{leaf}" if layer in around else _meaning(name, prefix, cross, single)
        if transposed and is_matrix(meaning):
            array = np.ascontiguousarray(array.T)
        weights[meaning] = array
    for name in [name for name in weights if re.search(r"(\.ln|^(en|de)coder\.norm)\.weight$", name)]:
        # Layers built with bias=False leave it out of their normalisations too.
        weights.setdefault(f"{name.removesuffix('weight')}bias", np.zeros_like(weights[name]))
    return weights


def _meaning(name: str, prefix: str, cross: str, single: bool) -> str:
    rest = name.removeprefix(prefix)
    rest = f"encoder.{rest}" if single else rest
    match = re.match(r"(encoder|decoder)\.layers\.(\d+)\.(.+)\.(weight|bias)$", rest)
    if match is None:
        return rest
    side, number, layer, leaf = match.groups()
    words = {native: canonical for canonical, native in {**WORDS[side], **SHARED_WORDS}.items()}
    if side == "decoder":
        words[cross] = "attention2"
    first, _, projection = layer.partition(".")
    own = {native: canonical for canonical, native in PROJECTIONS.items()}
    inner = f"{words.get(first, first)}.{own.get(projection, projection)}" if projection else words.get(first, first)
    return f"{side}.blks.block{number}.{inner}.{leaf}"


def _with_stand_ins(weights: dict[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], bool]:
    sides = [side for side in ("encoder", "decoder") if any(name.startswith(f"{side}.blks.") for name in weights)]
    present = [name for name in AROUND.values() if f"{name}.weight" in weights]
    if present:
        return weights, False
    norms = [array for name, array in weights.items() if name.endswith(".ln.weight") and array.ndim == 1]
    width = norms[0].size if norms else 0
    dtype = norms[0].dtype if norms else np.dtype(np.float32)
    if not 4 <= width <= 1 << 16:
        raise PortError(f"The width must be from 4 to {1 << 16} for unit vectors to stand in for embeddings, got {width}.")
    found = dict(weights)
    for side in sides:
        found[f"{side}.embedding.weight"] = np.eye(width, dtype=dtype)
        found[f"{side}.pos_embedding.weight"] = np.zeros((STAND_IN_LEN, width), dtype)
    if "decoder" in sides:
        found["decoder.dense.weight"] = np.eye(width, dtype=dtype)
    return found, True


def _optimizer(
    native: NativeFile, prefix: str, cross: str, transposed: bool, around: Mapping[str, str], weights: Arrays
) -> tuple[dict[str, np.ndarray] | None, tuple[str, ...]]:
    if native.optimizer is None:
        return None, ()
    state = {"step": np.asarray(native.optimizer["step"], np.int64).reshape(())}
    for slot in ("m", "v"):
        moments = {n[len(slot) + 1 :]: a for n, a in native.optimizer.items() if n.startswith(f"{slot}.")}
        found = _canonical(moments, prefix, cross, transposed, around)
        if {name: array.shape for name, array in found.items()} != {name: array.shape for name, array in weights.items()}:
            return None, ("The optimizer's state does not fit the weights: it was left out.",)
        state |= {f"{slot}.{name}": found[name] for name in weights}
    return state, ()


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


def check_writable(config: TransformerConfig, what: str) -> None:
    """Refuse what the stacks cannot be: all of it at once."""
    required = dict(REQUIRED)
    required |= {f"{side}_attention_bias": True for side in ("encoder", "decoder") if getattr(config, f"has_{side}")}
    wrong = [f"{n} must be {v}, but is {getattr(config, n)}" for n, v in required.items() if getattr(config, n) != v]
    if config.activation not in ("relu", "gelu"):
        wrong.append(f"activation must be relu or gelu, but is {config.activation}")
    if not config.has_encoder:
        wrong.append("an encoder must be there, but is not")
    if config.has_decoder and not config.final_norm:
        wrong.append("final_norm must be True, but is False")
    if wrong:
        raise PortError(f"{what} cannot hold this model: {'; '.join(wrong)}.")


def native_tensors(model: PortedModel, arrays: Arrays, cross: str, transposed: bool) -> dict[str, np.ndarray]:
    """Canonical arrays under the stacks' names with separate projections; alone, or as ``transformer.`` beside the rest."""
    alone = is_stand_in(model)
    prefix = "" if alone else "transformer."
    around = {canonical: native for native, canonical in {**AROUND, **POSITIONS}.items()}
    found = {}
    for name, array in arrays.items():
        layer, _, leaf = name.rpartition(".")
        laid = np.ascontiguousarray(array.T) if transposed and is_matrix(name) else array
        if layer in around:
            if not alone:
                found[f"{around[layer]}.{leaf}"] = laid
        else:
            found[prefix + _native(name, cross, model.config.has_decoder)] = laid
    return found


def _native(name: str, cross: str, has_decoder: bool) -> str:
    match = re.match(r"(encoder|decoder)\.blks\.block(\d+)\.(.+)\.(weight|bias)$", name)
    if match is None:
        rest = name
    else:
        side, number, layer, leaf = match.groups()
        words = {**WORDS[side], **SHARED_WORDS, "attention2": cross}
        first, _, projection = layer.rpartition(".")
        inner = f"{words[first]}.{PROJECTIONS[projection]}" if projection in PROJECTIONS else words[layer]
        rest = f"{side}.layers.{number}.{inner}.{leaf}"
    return rest if has_decoder else rest.removeprefix("encoder.")
