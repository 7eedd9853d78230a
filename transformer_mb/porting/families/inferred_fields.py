"""Fields of a configuration that canonical names and shapes show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...errors import PortError
from ..model import Arrays

# What is concluded from a tensor that is not there, where that is away from what a configuration has by itself.
ABSENT = {
    "tie_output": (True, "decoder.dense.weight"),
    "share_embeddings": (True, "decoder.embedding.weight"),
    "output_bias": (False, "decoder.dense.bias"),
    "ffn_bias": (False, "bias of a feed-forward network"),
    "norm_affine": (False, "scale of a normalisation"),
    "norm_kind": ("rms_norm", "shift of a normalisation"),
}


def absences(fields: Mapping[str, Any], known: Mapping[str, Any], tensors: Arrays) -> list[str]:
    """Describe what the fields conclude from absent tensors, one sentence each, unless ``known`` says it.

    ``tensors``: of the file by canonical name, also those that are the same as another one.
    """
    found = [
        f"{name} = {str(value).lower()}: the file has no {tensor}."
        for name, (value, tensor) in ABSENT.items()
        if fields.get(name) == value and name not in known and tensor not in tensors
    ]
    if fields["architecture"] != "encoder_decoder" and "architecture" not in known:
        other = "decoder" if fields["architecture"] == "encoder" else "encoder"
        found.append(f"architecture = {fields['architecture']}: the file has no tensor of the {other}.")
    return found


def uneven_layers(fields: Mapping[str, Any], known: Mapping[str, Any]) -> list[str]:
    """A side with fewer blocks than the other: as it was made, or without its last ones."""
    layers = {side: fields.get(f"{side}_num_layers", 0) for side in ("encoder", "decoder")}
    few = min(layers, key=lambda side: layers[side])
    if 0 < layers[few] < max(layers.values()) and f"{few}_num_layers" not in known:
        return [f"{few}_num_layers = {layers[few]}: the file has no {few}.blks.block{layers[few]}."]
    return []


def inferred_fields(weights: Arrays, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a TransformerConfig; of ``settings`` only ``position_offset`` matters, which no shape shows apart."""
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
        own = _shape(weights, f"{side}.embedding.weight") or (
            _shape(weights, "decoder.dense.weight") if side == "decoder" else ()
        )
        if not own and not table:
            raise PortError(f"The {side} must have an embedding, but the file has no {side}.embedding.weight.")
        fields[field] = own[0] if own else table[0]
        fields[f"{side}_num_layers"] = _count(weights, side)
        fields[f"{side}_attention_bias"] = any(re.match(rf"{side}\..*\.W_q\.bias$", name) for name in weights)
    if len(sides) == 2:
        fields["share_embeddings"] = "decoder.embedding.weight" not in weights
    if "decoder" in sides:
        fields["tie_output"] = "decoder.dense.weight" not in weights
        fields["output_bias"] = "decoder.dense.bias" in weights
    fields["ffn_bias"] = any(name.endswith(".ffn.dense1.bias") for name in weights)
    fields["ffn_gated"] = any(name.endswith(".ffn.dense3.weight") for name in weights)
    fields["norm_affine"] = any(name.endswith(".ln.weight") for name in weights)
    if fields["norm_affine"] and not any(name.endswith(".ln.bias") for name in weights):
        fields["norm_kind"] = "rms_norm"  # the one kind that has a scale and no shift
    fields["final_norm"] = any(f"{side}.norm.weight" in weights for side in sides)
    fields["embedding_norm"] = any(f"{side}.embedding_norm.weight" in weights for side in sides)
    fields["token_types"] = (_shape(weights, "encoder.type_embedding.weight") or (0,))[0]
    fields["pooler"] = "pooler.dense.weight" in weights
    if rows := _first(weights, r"\.relative_bias\.weight$", 0):
        fields |= {"position": "relative", "relative_buckets": rows}
    if rows := _first(weights, r"\.pos_embedding\.weight$", 0):
        offset = settings.get("position_offset", 0)
        fields |= {"position": "learned", "max_len": rows - (offset if isinstance(offset, int) else 0)}
    return fields


def _shape(weights: Arrays, name: str) -> tuple[int, ...]:
    return weights[name].shape if name in weights else ()


def _first(weights: Arrays, pattern: str, axis: int) -> int:
    shapes = [array.shape for name, array in weights.items() if re.search(pattern, name)]
    return int(shapes[0][axis]) if shapes and len(shapes[0]) > axis else 0


def _count(weights: Arrays, side: str) -> int:
    numbers = [int(match[1]) for name in weights if (match := re.match(rf"{side}\.blks\.block(\d+)\.", name))]
    if numbers and max(numbers) > 100 + len(weights):
        raise PortError(f"The {side} must number its blocks from 0, but there is a block {max(numbers)}.")
    if not numbers:
        name = next(name for name in weights if name.startswith(f"{side}."))
        raise PortError(f"The {side} must have blocks, but the file has no {side}.blks.block0, though it has {name:.120}.")
    return max(numbers) + 1
