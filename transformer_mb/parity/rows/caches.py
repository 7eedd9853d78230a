"""The row of a decoder that is fed in pieces: the cache's buffer, left padding and the pieces' sizes, drawn by the seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...config import CHOICES, TransformerConfig
from ...random_streams import stream
from ..computing.messages import Request, named, rounded_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from .drawn_models import CONFIG
from .drawn_values import LENGTHS, CoveringArray, Random, Row, model_weights
from .model_cases import CONFIGS, ModelCase
from .models import drawn_batch

SPARE = ModelCase.source_steps  # positions beyond the target's steps
BUFFERS: dict[str, Callable[[int], int | None]] = {
    "grown": lambda steps: None,
    "exact": lambda steps: steps,
    "longer": lambda steps: steps + SPARE,
}
PADDINGS: dict[str, Callable[[Random, int, int], np.ndarray | None]] = {
    "none": lambda random, rows, steps: None,
    "ragged": lambda random, rows, steps: np.array([*random.integers(0, steps, rows - 1), steps // 2]),
    "all but one": lambda random, rows, steps: np.full(rows, steps - 1),
}
PIECES: dict[str, Callable[[Random, int], list[int]]] = {
    "drawn": lambda random, steps: np.diff([0, *np.flatnonzero(random.random(steps - 1) < 0.4) + 1, steps]).tolist(),
    "ones": lambda random, steps: [1] * steps,
    "one last": lambda random, steps: [steps - 1, 1] if steps > 1 else [1],
    "whole": lambda random, steps: [steps],
}
SWITCHES = ("norm_position", "position", "position_offset", "decoder_num_layers", "decoder_num_heads")
SETTINGS: dict[str, tuple[Any, ...]] = {
    "architecture": tuple(name for name in CHOICES["architecture"] if name != "encoder"),
    "buffer": tuple(BUFFERS),
    "padding": tuple(PADDINGS),
    "pieces": tuple(PIECES),
    "T": (4, 1, 2, 3, 17),
    "rows": (3, 1),
    "source lens": (*LENGTHS, "none"),
    "compat_decode": CHOICES["compat_decode"],
    **{name: CONFIG[name] for name in SWITCHES},
}


def _possible(row: Row) -> bool:
    """The book's decoding counts a row's steps alone, and knows no padding; where differences count, there is no offset."""
    book, differences = row.get("compat_decode") == "d2l", row.get("position") in ("relative", "rotary")
    padded = row.get("padding", "none") != "none"
    return not (book and (differences or padded)) and not (differences and row.get("position_offset"))


CACHES = CoveringArray("cache", SETTINGS, _possible)
SHARE = 4  # for a seed


def cached_experiments(dtype: str, seed: int) -> list[Comparison]:
    """The book's model, prompts of different lengths, as few heads of keys as the cache then holds, and the seed's."""
    rows = rows_of("cached", dtype)
    usual = {name: values[0] for name, values in SETTINGS.items()} | {"decoder_num_layers": 2}
    cases: dict[str, Row] = {"d2l": usual, "decoder alone, prompts": usual | {"architecture": "decoder", "padding": "ragged"}}
    cases["decoder alone, prompts, learned positions"] = cases["decoder alone, prompts"] | {"position": "learned"}
    few = {"position": "rotary", "decoder_num_heads": 4, "num_kv_heads": 2}  # the array has as many settings as it can
    cases["decoder alone, prompts, fewer heads of keys"] = cases["decoder alone, prompts"] | few
    cases |= {f"drawn cache {number}: {CACHES.words(row)}": row for number, row in enumerate(CACHES.share(seed, SHARE), 1)}
    make = {name: partial(cached_request, name, row, dtype, seed) for name, row in cases.items()}
    return [Comparison(name, dtype, rows, make[name]) for name in cases if rows]


def _case(name: str, row: Row) -> ModelCase:
    config = {name: value for name, value in row.items() if name in CONFIG}
    sizes = {"source_vocab_size": None if row["architecture"] == "decoder" else 11, "max_len": row["T"] + SPARE}
    model = TransformerConfig.from_dict({**CONFIGS["d2l"].to_dict(), **config, **sizes})
    lens = "full" if row["source lens"] == "none" else row["source lens"]
    return ModelCase(name, model, row["rows"], target_steps=row["T"], source_lens=lens)


def cached_request(name: str, row: Row, dtype: str, seed: int) -> Request:
    case, random, steps = _case(name, row), stream(seed, "cached", name), row["T"]
    weights = rounded_arrays(named("weights", model_weights(case.config, seed)), dtype)
    batch = drawn_batch(case, random)
    if row["source lens"] == "none":
        batch.pop("source_valid_lens", None)
    arrays = weights | named("batch", batch)
    padding = PADDINGS[row["padding"]](random, case.rows, steps)
    if padding is not None:
        arrays["left_padding"] = padding.astype(np.uint8)  # which holds no difference of positions
    buffer, pieces = BUFFERS[row["buffer"]](steps), PIECES[row["pieces"]](random, steps)
    return Request("cached", dtype, {"config": case.config.to_dict(), "pieces": pieces, "max_steps": buffer}, arrays)
