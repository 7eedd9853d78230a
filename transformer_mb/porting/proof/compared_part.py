"""Which numbers of an output are compared."""

from __future__ import annotations

import numpy as np

from ..model import Arrays


def finite_part(
    name: str, batch: Arrays, never: tuple[int, ...], got: np.ndarray, expected: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Without encoder states at padding, where foreign code may leave anything, and logits ruled out by -inf on both sides;
    and the sentence of each position."""
    sides, sentences = [got, expected], np.indices(got.shape[:-1])[0]
    if name == "encoder" and "source_valid_lens" in batch:
        valid = np.arange(batch["source"].shape[1]) < batch["source_valid_lens"][:, None]
        sides, sentences = [side[valid] for side in sides], sentences[valid]
    if name == "logits":
        ruled_out = [i for i in never if i < got.shape[-1] and all(np.isneginf(side[..., i]).all() for side in sides)]
        sides = [np.delete(side, ruled_out, axis=-1) for side in sides]
    return sides, sentences.reshape(-1)
