"""The ways in which a failed model ran its attention, beside the one in which a sublayer is run by itself.

Asked for weights, given queries that are the last of the keys (as from a cache): frameworks have other kernels for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .computing.messages import Request, with_arrays
from .walk import part_request

ATTENTION = (".attention", ".attention1", ".attention2")


def other_ways(failed: Request, part: Request) -> Iterator[tuple[str, Request]]:
    """Say, in words and as requests, how else the failed request has run this part of its model."""
    if not part.spec["path"].endswith(ATTENTION) or part.spec["method"]:
        return
    if failed.computation == "model" and "attention" in failed.spec["wanted"]:
        yield "weights asked for", _again(part, part.spec["inputs"], need_weights=True)
    if failed.computation == "cached" and not part.spec["path"].startswith("encoder."):
        for start, stop, weights in _pieces(failed.spec["pieces"]):
            queries, keys, values, *lens = with_arrays(part.spec["inputs"], part.arrays)
            if part.spec["path"].endswith(".attention1"):
                keys, values = keys[:, :stop], values[:, :stop]
            words = f"steps {start + 1} to {stop}{', weights asked for' if weights else ''}"
            yield words, _again(part, [queries[:, start:stop], keys, values, *lens], need_weights=weights)


def not_run(failed: Request) -> list[str]:
    """Name what of a failed request no sublayer by itself shows."""
    found = ["the caches' own buffers"] if failed.computation == "cached" else []
    found += ["left padding"] if "left_padding" in failed.arrays else []
    found += ["the steps of a search"] if failed.computation == "decode" else []
    masked = failed.computation == "step" or any(name.startswith("masks.") for name in failed.arrays)
    return found + (["dropout's masks"] if masked else [])


def _pieces(counts: list[int]) -> Iterator[tuple[int, int, bool]]:
    """The first, the last, and the one before it, at which weights are asked for: where each begins and ends."""
    ends = np.cumsum(counts).tolist()
    for number in sorted({0, len(ends) - 2, len(ends) - 1} - {-1}):
        yield ends[number] - counts[number], ends[number], number == len(ends) - 2


def _again(part: Request, inputs: Any, **call: Any) -> Request:
    given = with_arrays(part.spec["inputs"], part.arrays) if inputs is part.spec["inputs"] else inputs
    kept = {name: with_arrays(value, part.arrays) for name, value in part.spec["call"].items()}
    asked = {name: value for name, value in call.items() if value}
    again = part_request(part, part.spec["path"], None, given, {**kept, **asked})
    return replace(again, spec={**again.spec, "config": part.spec["config"]})
