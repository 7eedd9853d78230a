"""The part that one process has in a training step.

Every process has the whole batch, since its order is a function of the seed and the epoch, and takes its rows. A gradient is
a sum over tokens divided by one number; so the processes' gradients are summed, each weighed by its own divisor over the
whole batch's. A mean of means would give the tokens of a process with few of them too much weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..batch import Batch

Masks = Mapping[str, np.ndarray]


class Share(NamedTuple):
    """A process's rows of a batch, its dropout masks, and what its loss and gradient are multiplied by before the sum.

    ``of_step``: what those of the whole batch would be multiplied by.
    """

    batch: Batch
    dropout_masks: Masks | None
    weight: float
    of_step: float


def share(
    batch: Batch, dropout_masks: Masks | None, rank: int, size: int, normalization: str, whole: int, devices: int
) -> Share:
    """The rows [rank * B / size, (rank + 1) * B / size) of a batch whose width all processes keep.

    ``whole`` is the divisor of the step that the batch belongs to.
    A batch whose rows ``size * devices`` does not divide is filled up with repeats of its first row that have no target
    tokens: the source keeps its length, since an attention over no keys at all is no case that training else meets.
    """
    of_step = divisor([batch], normalization) / whole
    if size * devices == 1:
        return Share(batch, dropout_masks, of_step, of_step)
    rows = len(batch.target_in)
    count = -(-rows // (size * devices)) * devices
    positions = np.arange(rank * count, (rank + 1) * count)
    taken = np.where(positions < rows, positions, 0)
    local = type(batch)(*(None if array is None else np.asarray(array)[taken] for array in batch))
    local = local._replace(target_valid_lens=np.where(positions < rows, local.target_valid_lens, 0))
    masks = None if dropout_masks is None else {path: np.asarray(mask)[taken] for path, mask in dropout_masks.items()}
    return Share(local, masks, divisor([local], normalization) / whole, of_step)


def divisor(batches: Sequence[Batch], normalization: str) -> int:
    """Return the divisor of MaskedSoftmaxCELoss for batches as one: the largest width, or the target tokens and never 0."""
    if normalization == "steps":
        return sorted(batch.target_out.shape[1] for batch in batches)[-1]
    return sum(batch.num_tokens for batch in batches) or 1
