"""One function per published variant: its architecture, and the recipe that its document trains with."""

from __future__ import annotations

from typing import Any

from .config import TransformerConfig
from .errors import ConfigError

RECIPES: dict[str, dict[str, Any]] = {
    # D2L chapter 10.7 with the training function of chapter 9.7.
    "d2l": {
        "epochs": 200,
        "batch_size": 64,
        "num_steps": 10,
        "optimizer": "adam",
        "learning_rate": 0.005,
        "clip_norm": 1.0,
        "normalization": "steps",
        "min_freq": 2,
    },
}


def d2l(source_vocab_size: int, target_vocab_size: int, **changes: Any) -> TransformerConfig:
    """Dive into Deep Learning, chapter 10.7: 2 layers, 32 hidden units, 4 heads, post-norm, no attention bias."""
    return TransformerConfig(source_vocab_size=source_vocab_size, target_vocab_size=target_vocab_size, **changes)


PRESETS = {"d2l": d2l}


def check_name(name: str) -> str:
    if name not in PRESETS:
        raise ConfigError(f"The preset must be one of {', '.join(PRESETS)}, but {name!r} came.")
    return name
