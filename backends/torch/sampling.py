"""Drawing tokens: uniform numbers of a row's own, and which token of a step's probabilities such a number says."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from transformer_mb.decoding.sampling import Truncation


def uniforms(seeds: np.ndarray, steps: int, device: torch.device) -> Tensor:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]."""
    rows = torch.empty(len(seeds), steps, device=device)
    for row, (high, low) in zip(rows, seeds.tolist(), strict=True):
        row.uniform_(generator=torch.Generator(device).manual_seed(high << 31 | low))
    return rows


def drawn(logits: Tensor, uniform: Tensor, truncation: Truncation) -> Tensor:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    falling, ids = logits.sort(dim=-1, descending=True, stable=True)  # of equal logits the lowest id first
    weights = torch.exp((falling - falling[:, :1]) / truncation.temperature)
    weights[:, truncation.top_k :] = 0.0
    before = weights.cumsum(dim=-1) - weights
    weights = weights.masked_fill(before >= truncation.top_p * weights.sum(dim=-1, keepdim=True), 0.0)
    total = weights.cumsum(dim=-1)
    place = (total <= uniform[:, None] * total[:, -1:]).sum(dim=-1)
    # Rounding may end the sum a little late, among tokens that were cut.
    place = torch.minimum(place, (weights > 0.0).sum(dim=-1) - 1)
    return ids.gather(-1, place[:, None])[:, 0]
