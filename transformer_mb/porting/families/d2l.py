"""The D2L book's Transformer as its users save it in four frameworks and in flax, and this project's own models.

Sizes and switches are read from names and shapes; what no weight file holds comes from the settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...errors import PortError, WeightsError
from ...parameters import check_weights, parameter_shapes
from ..model import NativeFile, PortedModel
from ..settings import check_sizes, made_config, vocabularies
from .naming_schemes import DIALECTS, canonical_name, is_matrix, native_name

# LayerNorm's default where the file comes from; what else nothing says is the book's, as TransformerConfig has it.
EPSILON = {"keras": 1e-3, "tensorflow": 1e-3, "flax": 1e-6}
UNTOLD = ("npz", "safetensors")  # containers that are of no framework, and so of no layout
SLOTS = ("m", "v")


def recognize(native: NativeFile) -> bool:
    names = [canonical_name(name, native.format).name for name in native.tensors]
    return any(re.match(r"(encoder|decoder)\.blks\.block\d+\.attention1?\.W_q\.weight$", name) for name in names)


def read(native: NativeFile, settings: Mapping[str, Any]) -> PortedModel:
    """Raises PortError that lists every missing, unexpected and wrongly shaped tensor."""
    check_fractions(native)
    said = {**native.settings, **settings}
    weights, natives = _canonical(native, settings)
    layout = _unseen_layout(native, weights, settings)
    weights, notes = _untied(weights, said)
    assumed = {"norm_eps": EPSILON[native.format]} if native.format in EPSILON else {}
    config = made_config(found_fields(weights, said), settings, assumed, native.settings)
    check_sizes(config, len(weights))
    try:
        check_weights(weights, parameter_shapes(config), "The configuration")
    except WeightsError as error:
        raise PortError(str(error)) from None
    weights = {name: weights[name] for name in parameter_shapes(config)}
    optimizer, dropped = _optimizer(native, natives, weights)
    return PortedModel(
        config=config,
        weights=weights,
        optimizer=optimizer,
        notes=(*native.notes, *layout, *notes, *dropped),
        **vocabularies(settings),
    )


def check_fractions(native: NativeFile) -> None:
    """Whole numbers and truth values are counters, indices or masks, never weights."""
    wrong = [f"{name!r:.80} ({array.dtype.name})" for name, array in native.tensors.items() if array.dtype.kind != "f"]
    if wrong:
        raise PortError(
            f"Weights must be floating-point numbers, but {len(wrong)} tensors are not: {', '.join(wrong)}. Buffers can be "
            "named with ignore in --config; quantised weights must be widened first."
        )


def _unseen_layout(native: NativeFile, weights: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[str, ...]:
    square = all(array.shape[0] == array.shape[-1] for name, array in weights.items() if is_matrix(name) and array.ndim == 2)
    if not square or native.format not in UNTOLD or native.settings or "linear_layout" in settings:
        return ()
    return (
        "Every Linear weight of the file is square and its container tells no layout: linear_layout = out_in was assumed, and "
        "no shape shows whether it is so.",
    )


def _canonical(native: NativeFile, settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, bool]]]:
    """Arrays by canonical name, and what each native name became."""
    layout = settings.get("linear_layout")
    if layout not in (None, "out_in", "in_out"):
        raise PortError(f"linear_layout must be out_in or in_out, got {layout!r}.")
    weights: dict[str, np.ndarray] = {}
    natives = {}
    for name, array in native.tensors.items():
        meaning, transposed = canonical_name(name, native.format)
        if layout is not None and is_matrix(meaning):
            transposed = layout == "in_out"
        if meaning in weights:
            raise PortError(f"Two tensors of the file mean {meaning}; one of them is {name!r:.80}.")
        transposed = transposed and array.ndim == 2
        weights[meaning] = np.ascontiguousarray(array.T) if transposed else array
        natives[name] = (meaning, transposed)
    _check_layout(weights)
    return weights, natives


def _check_layout(weights: Mapping[str, np.ndarray]) -> None:
    """A Linear whose bias is as long as its other side lies the wrong way round; square ones do not show it."""
    for name, array in weights.items():
        bias = weights.get(f"{name.removesuffix('.weight')}.bias") if is_matrix(name) else None
        if bias is not None and array.ndim == 2 and bias.shape != (array.shape[0],) and bias.shape == (array.shape[1],):
            raise PortError(
                f"{name} must lie [out, in], got {list(array.shape)} with a bias of {bias.shape[0]}: the Linear weights "
                'of this file lie the other way round. Say "linear_layout": "in_out" (or "out_in") in --config.'
            )


def _untied(weights: dict[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Without the second name of a tensor that two layers share; equal to the last bit is taken for shared."""
    notes = []
    table = "encoder.embedding.weight" if "encoder.embedding.weight" in weights else "decoder.embedding.weight"
    for field, second in (("share_embeddings", "decoder.embedding.weight"), ("tie_output", "decoder.dense.weight")):
        first = (
            table if field == "share_embeddings" or "decoder.embedding.weight" not in weights else "decoder.embedding.weight"
        )
        if first == second or first not in weights or second not in weights or settings.get(field) is False:
            continue
        if np.array_equal(weights[first], weights[second]):
            weights = {name: array for name, array in weights.items() if name != second}
            notes.append(f"{second} equals {first} in every bit: read as one shared tensor ({field}).")
        elif settings.get(field):
            raise PortError(f"{field} was said, but {second} and {first} differ.")
    return weights, notes


def found_fields(weights: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a TransformerConfig that canonical names and shapes show."""
    sides = [side for side in ("encoder", "decoder") if any(name.startswith(f"{side}.") for name in weights)]
    if not sides:
        raise PortError("The names must begin with encoder or decoder, but none does.")
    fields: dict[str, Any] = {"architecture": "encoder_decoder" if len(sides) == 2 else sides[0]}
    table = _shape(weights, "encoder.embedding.weight") or _shape(weights, "decoder.embedding.weight")
    fields["num_hiddens"] = table[1] if len(table) == 2 else _first(weights, r"\.ln\.weight$", 0)
    fields["ffn_num_hiddens"] = _first(weights, r"\.ffn\.dense1\.weight$", 0)
    for side, field in (("encoder", "source_vocab_size"), ("decoder", "target_vocab_size")):
        if side not in sides:
            continue
        rows = _shape(weights, f"{side}.embedding.weight") or (
            _shape(weights, "decoder.dense.weight") if side == "decoder" else ()
        )
        fields[field] = rows[0] if rows else table[0] if table else None
        fields[f"{side}_num_layers"] = _count(weights, side)
        fields[f"{side}_attention_bias"] = any(re.match(rf"{side}\..*\.W_q\.bias$", name) for name in weights)
    if len(sides) == 2:
        fields["share_embeddings"] = "decoder.embedding.weight" not in weights
    if "decoder" in sides:
        fields["tie_output"] = "decoder.dense.weight" not in weights
        fields["output_bias"] = "decoder.dense.bias" in weights
    fields["ffn_bias"] = any(name.endswith(".ffn.dense1.bias") for name in weights)
    fields["norm_affine"] = any(name.endswith(".ln.weight") for name in weights)
    fields["final_norm"] = any(f"{side}.norm.weight" in weights for side in sides)
    fields["embedding_norm"] = any(f"{side}.embedding_norm.weight" in weights for side in sides)
    fields["token_types"] = (_shape(weights, "encoder.type_embedding.weight") or (0,))[0]
    fields["pooler"] = "pooler.dense.weight" in weights
    return {**fields, **_positions(weights, settings)}


def _positions(weights: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> dict[str, Any]:
    rows = _first(weights, r"\.pos_embedding\.weight$", 0)
    offset = settings.get("position_offset", 0)
    return {"position": "learned", "max_len": rows - (offset if isinstance(offset, int) else 0)} if rows else {}


def _shape(weights: Mapping[str, np.ndarray], name: str) -> tuple[int, ...]:
    return weights[name].shape if name in weights else ()


def _first(weights: Mapping[str, np.ndarray], pattern: str, axis: int) -> int:
    shapes = [array.shape for name, array in weights.items() if re.search(pattern, name)]
    return int(shapes[0][axis]) if shapes and len(shapes[0]) > axis else 0


def _count(weights: Mapping[str, np.ndarray], side: str) -> int:
    numbers = [int(match[1]) for name in weights if (match := re.match(rf"{side}\.blks\.block(\d+)\.", name))]
    if numbers and max(numbers) > 100 + len(weights):
        raise PortError(f"The {side} must number its blocks from 0, but there is a block {max(numbers)}.")
    return max(numbers, default=-1) + 1


def _optimizer(
    native: NativeFile, natives: Mapping[str, tuple[str, bool]], weights: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray] | None, tuple[str, ...]]:
    if native.optimizer is None:
        return None, ()
    state: dict[str, np.ndarray] = {}
    for key, array in native.optimizer.items():
        slot, _, name = key.partition(".")
        meaning, transposed = natives.get(name, (name, False))
        if slot in SLOTS and meaning in weights:
            state[f"{slot}.{meaning}"] = np.ascontiguousarray(array.T) if transposed else array
    expected = {f"{slot}.{name}": array.shape for slot in SLOTS for name, array in weights.items()}
    step = native.optimizer.get("step")
    if step is None or step.size != 1 or {name: array.shape for name, array in state.items()} != expected:
        return None, ("The optimizer's state does not fit the weights: it was left out.",)
    return {"step": np.asarray(step, np.int64).reshape(()), **{name: state[name] for name in expected}}, ()


def write(model: PortedModel, format_name: str, settings: Mapping[str, Any] | None = None) -> NativeFile:
    """The file that the D2L code of this framework loads; ``block_names`` of the settings changes ``blks.{i}``."""
    version = (settings or {}).get("keras_version", 3)
    if version not in (2, 3):
        raise PortError(f"keras_version must be 2 or 3, got {version!r}.")
    dialect = DIALECTS["keras 2" if format_name == "keras" and version == 2 else format_name]
    block_names = (settings or {}).get("block_names")
    said = block_names if isinstance(block_names, str) else ""
    if block_names is not None and ("{i}" not in said or set("{}") & set(said.replace("{i}", ""))):
        raise PortError(
            f"block_names must be a text with {{i}} and no other braces in it, such as block{{i}}, got {block_names!r}."
        )

    def native(name: str) -> str:
        return native_name(name, dialect, block_names)

    def laid(name: str, array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array.T) if dialect.transposed and is_matrix(name) else array

    weights = with_shared_names(model.config, model.weights) if dialect.shared_names else model.weights
    laid_out = {name: laid(name, array) for name, array in model.weights.items()}
    tensors = {native(name): laid_out.get(name, laid(name, array)) for name, array in weights.items()}
    optimizer = None
    if model.optimizer is not None:
        optimizer = {"step": np.asarray(model.optimizer["step"], np.int64)}
        for key, array in model.optimizer.items():
            slot, _, name = key.partition(".")
            if slot in SLOTS:
                optimizer[f"{slot}.{native(name)}"] = laid(name, array)
    return NativeFile(format=format_name, tensors=tensors, optimizer=optimizer, settings=model.config.to_dict())


def with_shared_names(config: TransformerConfig, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A shared tensor under each of its names, in the order of ``state_dict``."""
    untied = config.replace(share_embeddings=False, tie_output=False)
    found = {}
    for name in parameter_shapes(untied):
        if name in weights:
            found[name] = weights[name]
        elif name == "decoder.embedding.weight":
            found[name] = weights["encoder.embedding.weight"]
        elif name == "decoder.dense.weight":
            found[name] = weights["encoder.embedding.weight" if config.share_embeddings else "decoder.embedding.weight"]
    return found
