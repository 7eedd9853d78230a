"""``num_layers`` and ``num_heads``: one word for the encoder's and the decoder's field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import ConfigError

BOTH_SIDES = ("num_layers", "num_heads")  # the encoder's and the decoder's at once


def on_both_sides(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of TransformerConfig that are meant. Raises ConfigError where a side is given another number beside it."""
    fields = dict(given)
    for name in BOTH_SIDES:
        if name in fields:
            both = dict.fromkeys((f"encoder_{name}", f"decoder_{name}"), fields.pop(name))
            if other := [
                f"{side} = {fields[side]}" for side, value in both.items() if side in fields and fields[side] != value
            ]:
                raise ConfigError(f"{name} says it of both sides, got {name} = {given[name]} beside {' and '.join(other)}.")
            fields.update(both)
    return fields
