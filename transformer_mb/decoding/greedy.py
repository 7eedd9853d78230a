"""The greedy loop of the backends whose steps run one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def greedy_loop(
    step: Callable[[np.ndarray], np.ndarray],
    tokens: np.ndarray,
    max_steps: int,
    eos_id: int,
    forced: np.ndarray | None = None,
) -> np.ndarray:
    """[B, steps]: from tokens [B], each step's answer, or what is ``forced``, is fed to the next, until every row has ended."""
    finished = np.zeros(tokens.shape, dtype=bool)
    generated = []
    for number in range(max_steps):
        tokens = step(tokens)
        if forced is not None:
            tokens = np.where(forced[:, number] >= 0, forced[:, number], tokens)
        generated.append(tokens)
        finished |= tokens == eos_id
        if finished.all():
            break
    return np.stack(generated, axis=1)
