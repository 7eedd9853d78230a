"""The inputs of the layers' cases, by name. Sizes: B 3, T 4, S 5, D 8, H 2, F 12, V 11."""

from __future__ import annotations

from typing import Any

import numpy as np

B, T, S, D, H, F, V = 3, 4, 5, 8, 2, 12, 11
# Rows and steps of a sum that two bytes would lose: bfloat16 adds no more of equal parts than 2^8, and float16 than 2^11.
MANY = 64
SHAPES = {
    "X": (B, T, D),
    "Y": (B, T, D),
    "one token": (B, 1, D),
    "source": (B, S, D),
    "narrow source": (B, S, 6),
    "wide source": (B, S, 10),
    "Q": (B, T, 3),
    "K": (B, S, 3),
    "V": (B, S, 3),
    "queries of four heads": (4, 4, T, 3),  # as many rows as heads
    "of two heads": (4, 2, S, 3),
    "scores": (B, T, S),
    "scores heads": (B, H, T, S),
    "long": (1, 512, D),
    "1,000 steps": (B, 1000, D),
    "Q heads": (B, H, T, 3),
    "K heads": (B, H, S, 3),
    "V heads": (B, H, S, 3),
    "heads to turn": (B, H, T, D // H),
    "logits": (B, T, V),
    "four axes": (B, S, 2, 3),
    "300 scores": (B, 2, 300),
    "300 steps of logits": (B, 300, V),
}
FIXED = {
    "lens": np.array([5, 2, 1]),
    "lens T": np.array([4, 2, 1]),
    "lens with 0": np.array([3, 0, 5]),
    "lens 2-D": np.array([[1, 2, 3, 5], [5, 0, 1, 2], [4, 4, 2, 1]]),
    "lens 2-D T": np.array([[1, 2, 3, 4], [4, 0, 1, 2], [4, 4, 2, 1]]),
    "labels": np.array([[1, 2, 3, 4], [10, 9, 8, 7], [0, 5, 5, 0]]),
    "label lens": np.array([4, 0, 2]),
    "no lens": np.array([0, 0, 0]),
    # One byte holds neither the number of steps nor the sum of these.
    "lens of one byte": np.array([200, 10, 250], np.uint8),
    "300 labels": np.arange(B * 300).reshape(B, 300) % V,
    "source ids": np.array([[4, 5, 6, 7, 3], [8, 3, 1, 1, 1], [10, 9, 4, 3, 1]]),
    "target ids": np.array([[2, 5, 6, 7], [2, 8, 1, 1], [2, 9, 4, 0]]),
    "long lens": np.array([400]),
    "1,000 ids": np.arange(1000)[None] % V,
    "1,000 lens": np.array([1000]),
    "many lens": np.full(MANY, MANY),
    "types": np.array([[0, 0, 1, 1, 1], [0, 1, 0, 1, 0], [1, 1, 1, 1, 0]]),
}


def build_input(spec: Any, rng: np.random.Generator) -> Any:
    """Make an input from its name: a random array, a fixed one, or a list of such; None, numbers and arrays stay."""
    if isinstance(spec, list):
        return [build_input(item, rng) for item in spec]
    if not isinstance(spec, str):
        return spec
    if spec == "small variance":
        return 100.0 + 1e-3 * rng.standard_normal((B, T, D))
    if spec == "hardly varying":  # one row as usual, one of a single number, one about zero
        return rng.standard_normal((B, T, D)) * np.array([1.0, 0.0, 1e-3]).reshape(B, 1, 1) + np.eye(B)[1].reshape(B, 1, 1)
    if spec == "far from zero":  # the mean in bfloat16 is off by up to an eighth of the deviation
        return 100.0 + 2.0 * rng.standard_normal((B, T, D))
    if spec == "far":  # from where a bell curve is nearly one to where it is one
        return 8.0 * rng.standard_normal((B, T, D))
    if spec == "queries of unlike sizes":  # the scores of one are hundreds beyond those of the others
        return rng.standard_normal(SHAPES["Q"]) * np.array([1.0, 300.0, 1.0, 0.01])[:, None]
    if spec == "far logits":  # few labels have a probability that float64 could hold
        return 1000.0 * rng.standard_normal((B, T, V))
    if spec == "many":  # vectors about one, so that sums of their products grow with each of them
        return 2.0 * rng.standard_normal(D) + rng.standard_normal((MANY, MANY, D))
    if spec == "many ids":  # every other one is the same, as a full stop or an article is in a text
        return np.where(np.arange(MANY) % 2, rng.integers(0, V, (MANY, MANY)), 5)
    if spec == "mask":
        return rng.random((B, 1, 1, S)) < 0.7
    if spec == "mask per head":
        return rng.random((B, H, T, S)) < 0.6
    if spec == "mask between steps":
        return rng.random((B, 1, T, T)) < 0.7
    if spec == "mask over queries":
        return np.array([[True] * S, [False] * S, [True, False] * 2 + [True], [True] * S])
    return FIXED[spec] if spec in FIXED else rng.standard_normal(SHAPES[spec])
