"""Layers in PyTorch, as other people write them."""

import torch
from torch import nn


class Block(nn.Module):
    """A post-norm block whose attention packs q, k and v."""

    def __init__(self, size, heads=2):
        super().__init__()
        self.attn = nn.MultiheadAttention(size, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.fc1, self.act, self.fc2 = nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size)

    def forward(self, x, mask):
        h = self.norm1(x + self.attn(x, x, x, key_padding_mask=~mask, need_weights=False)[0])
        return self.norm2(h + self.fc2(self.act(self.fc1(h))))


class Perceptron(nn.Module):
    """Two dense layers with a norm between them, which every framework has."""

    def __init__(self, size, rate=0.0):
        super().__init__()
        self.one, self.norm, self.two = nn.Linear(size, 2 * size), nn.LayerNorm(2 * size), nn.Linear(2 * size, 3)
        self.drop = nn.Dropout(rate)

    def forward(self, x):
        return self.two(self.drop(self.norm(self.one(x)).tanh()))


class Attending(nn.Module):
    """Attention that drops its weights."""

    def __init__(self, size, rate):
        super().__init__()
        self.attn = nn.MultiheadAttention(size, 2, rate, batch_first=True)

    def forward(self, x):
        return self.attn(x, x, x, need_weights=False)[0]


def adam(weights):
    return torch.optim.Adam(weights, 1e-2)
