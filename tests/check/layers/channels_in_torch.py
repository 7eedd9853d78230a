"""A small network of convolutions in PyTorch with its channels first, and ports of it that have them last, or time first."""

import torch
from torch import nn


class First(nn.Module):
    """Sentences [B, T, size]; a convolution over time, a norm of groups, SiLU, a dense layer on each step."""

    def __init__(self, size=6, epsilon=1e-5, padding="zeros", activation=torch.nn.functional.silu):
        super().__init__()
        self.conv = self.convolution(size, 2 * size, 3, padding=1, padding_mode=padding)
        self.norm = self.normalization(2, 2 * size, epsilon)
        self.dense = nn.Linear(2 * size, 3)
        self.activation = activation

    convolution, normalization = nn.Conv1d, nn.GroupNorm

    def forward(self, x):
        return self.dense(self.activation(self.norm(self.conv(x.transpose(1, 2)))).transpose(1, 2))


class LastConvolution(nn.Conv1d):
    def forward(self, x):
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class LastNormalization(nn.GroupNorm):
    def forward(self, x):
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class Last(First):
    """The same with its channels last throughout."""

    convolution, normalization = LastConvolution, LastNormalization

    def forward(self, x):
        return self.dense(self.activation(self.norm(self.conv(x))))


class Recurrent(nn.Module):
    """A GRU with a dense layer before and behind; ``first`` has it take the batch first."""

    def __init__(self, size=6, first=True, slope=1.0):
        super().__init__()
        self.first, self.slope = first, slope
        self.before, self.behind = nn.Linear(size, size), nn.Linear(size, 3)
        self.gru = nn.GRU(size, size, batch_first=first)

    def forward(self, x):
        h = self.before(x if self.first else x.transpose(0, 1))
        found = self.behind(torch.tanh(self.slope * self.gru(h)[0]))
        return found if self.first else found.transpose(0, 1)
