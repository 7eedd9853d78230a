"""The best tokens of a step where a framework's own top-k promises nothing on ties: of equal logits the lowest ids."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def best_tokens(
    vocabulary: int,
    count: int,
    top: Callable[[int], tuple[np.ndarray, np.ndarray, np.ndarray]],
    lowest: Callable[[np.ndarray, np.ndarray, int], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """The ``count`` best log-probabilities and their ids, [rows, count] each, as ``BeamSession.step`` returns them.

    The values of a top-k are the same however it breaks ties; only the ids are not. So one more than ``count`` is asked
    for: where that is worse than the last one, the right ids are there, and only their order has to be mended. In the
    rows where it is as good, more tokens tie than there are places, and ``lowest`` is asked which come first.

    Args:
        top: k -> the k largest logits, falling, their ids and their log-probabilities, [rows, k] each.
        lowest: some rows [N], a logit [N] of each, and k -> ids [N, k]: rising, of the first k tokens of the row that have
            the logit; any where there are no more.
    """
    count = min(count, vocabulary)
    logits, ids, log_probs = top(min(count + 1, vocabulary))
    crowded = np.flatnonzero((logits[:, count:] == logits[:, count - 1 : count]).any(axis=1))
    logits, ids = logits[:, :count], ids[:, :count]
    if crowded.size:
        last = logits[crowded, -1]
        tied = logits[crowded] == last[:, None]
        # They stand at the end, and the first of them gets the lowest id.
        rank = np.maximum(np.arange(count) - tied.argmax(axis=1)[:, None], 0)
        ids[crowded] = np.where(tied, np.take_along_axis(lowest(crowded, last, count), rank, axis=1), ids[crowded])
    # Equal logits have equal log-probabilities, so these stay where they are.
    order = np.lexsort((ids, -logits), axis=1)
    return log_probs[:, :count].astype(np.float64), np.take_along_axis(ids, order, axis=1)
