"""Layers in PyTorch that give whole numbers to a table of positions."""

import torch
from torch import nn


class Table(nn.Embedding):
    """Vectors of positions, which are counted from ``first``."""

    first = 0

    def forward(self, positions):
        return super().forward(positions - self.first)


class Positioned(nn.Module):
    """The input with its positions added, normed; ``off`` is added to the positions, ``first`` to what both count from."""

    def __init__(self, size=6, off=0, first=0, epsilon=1e-5):
        super().__init__()
        self.table, self.norm = Table(9, size), nn.LayerNorm(size, epsilon)
        self.off, self.table.first = off, first

    def forward(self, x):
        positions = torch.arange(x.shape[1]) + self.off + self.table.first
        return self.norm(x + self.table(positions))
