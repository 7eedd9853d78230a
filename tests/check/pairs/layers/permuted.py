"""A layer that permutes its batch before, and back after: rounding may differ, nothing else."""

import torch
from torch import nn


class EncoderLayer(nn.TransformerEncoderLayer):
    """``torch.nn.TransformerEncoderLayer`` on the batch in another order. x [B, T, D], lens [B] -> [B, T, D]."""

    def __init__(self, size=16, heads=4, hidden=24):
        super().__init__(size, heads, hidden, dropout=0.0, batch_first=True)

    def forward(self, x, lens):
        order = torch.arange(len(x) - 1, -1, -1)
        outside = torch.arange(x.shape[1]) >= lens[order, None]
        return super().forward(x[order], src_key_padding_mask=outside)[order]
