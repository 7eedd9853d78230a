"""What canonical names and shapes show of a configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...errors import PortError
from ..model import Arrays


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
        fields[field] = own[0] if own else table[0] if table else None
        fields[f"{side}_num_layers"] = _count(weights, side)
        fields[f"{side}_attention_bias"] = any(re.match(rf"{side}\..*\.W_q\.bias$", name) for name in weights)
    if len(sides) == 2:
        fields["share_embeddings"] = "decoder.embedding.weight" not in weights
    if "decoder" in sides:
        fields["tie_output"] = "decoder.dense.weight" not in weights
        fields["output_bias"] = "decoder.dense.bias" in weights
    fields["ffn_bias"] = any(name.endswith(".ffn.dense1.bias") for name in weights)
    fields["norm_affine"] = any(name.endswith(".ln.weight") for name in weights)
    if fields["norm_affine"] and not any(name.endswith(".ln.bias") for name in weights):
        fields["norm_kind"] = "rms_norm"  # the one kind that has a scale and no shift
    fields["final_norm"] = any(f"{side}.norm.weight" in weights for side in sides)
    fields["embedding_norm"] = any(f"{side}.embedding_norm.weight" in weights for side in sides)
    fields["token_types"] = (_shape(weights, "encoder.type_embedding.weight") or (0,))[0]
    fields["pooler"] = "pooler.dense.weight" in weights
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
    return max(numbers, default=-1) + 1
