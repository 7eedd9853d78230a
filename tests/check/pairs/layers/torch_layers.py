"""PyTorch's own layers, called with the inputs that every subject of a pair takes by name."""

import torch
from torch import nn
from torch.nn import functional


def outside(lens, size):
    """True [B, size] at the positions from ``lens`` [B] on, which PyTorch's attention leaves out."""
    return torch.arange(size, device=lens.device) >= lens[:, None]


class EncoderLayer(nn.TransformerEncoderLayer):
    """``torch.nn.TransformerEncoderLayer`` with the lengths of its rows. x [B, T, D], lens [B] -> [B, T, D]."""

    def __init__(self, size=16, heads=4, hidden=24, **options):
        super().__init__(size, heads, hidden, dropout=0.0, batch_first=True, **options)

    def forward(self, x, lens):
        return super().forward(x, src_key_padding_mask=outside(lens, x.shape[1]))


class Attention(nn.MultiheadAttention):
    """``torch.nn.MultiheadAttention`` over a memory. x [B, T, D], memory [B, S, D], lens [B] -> [B, T, D]."""

    def __init__(self, size=16, heads=4, causal=False):
        super().__init__(size, heads, batch_first=True)
        self.causal = causal

    def forward(self, x, memory, lens):
        later = torch.ones(x.shape[1], memory.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        padding = outside(lens, memory.shape[1])
        return super().forward(x, memory, memory, key_padding_mask=padding, attn_mask=later, need_weights=False)[0]


class Recurrent(nn.LSTM):
    """``torch.nn.LSTM`` of one direction. x [B, T, D] -> outputs [B, T, H], last hidden state and cell [B, H]."""

    def __init__(self, size=6, hidden=8):
        super().__init__(size, hidden, batch_first=True)

    def forward(self, x):
        outputs, (hidden, cell) = super().forward(x)
        return {"outputs": outputs, "hidden": hidden[0], "cell": cell[0]}


class Convolutions(nn.Module):
    """A strided, a dilated and a grouped ``torch.nn.Conv2d``. x [B, 4, Y, X] -> three images by name."""

    def __init__(self):
        super().__init__()
        self.strided = nn.Conv2d(4, 6, 3, stride=2, padding=1)
        self.dilated = nn.Conv2d(4, 5, (2, 3), dilation=2)
        self.grouped = nn.Conv2d(4, 8, 3, padding="same", groups=2)

    def forward(self, x):
        return {"strided": self.strided(x), "dilated": self.dilated(x), "grouped": self.grouped(x)}


class GroupNorm(nn.GroupNorm):
    """``torch.nn.GroupNorm`` of the last axis, in three groups. x [B, T, D] -> [B, T, D]."""

    def forward(self, x):
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class Norms(nn.Module):
    """PyTorch's norms. x [B, T, 12] -> their outputs by name, and what batch norm remembers of the batch.

    Batch norm uses the batch's own statistics, as in training, whatever the mode.
    """

    def __init__(self, size=12):
        super().__init__()
        self.layer = nn.LayerNorm(size)
        self.root = nn.RMSNorm(size, eps=1e-6)
        self.group = GroupNorm(3, size)
        self.batch = nn.BatchNorm1d(size, track_running_stats=False)

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        mean, variance = torch.zeros_like(rows[0]), torch.ones_like(rows[0])
        functional.batch_norm(rows.detach(), mean, variance, training=True, momentum=0.1)
        return {
            "layer": self.layer(x),
            "root": self.root(x),
            "group": self.group(x),
            "batch": self.batch(rows).reshape(x.shape),
            "remembered": (mean, variance),
        }


class Perceptron(nn.Module):
    """Three linear layers with GELU between them. x [B, T, D] -> [B, T, D]."""

    def __init__(self, size=16, hidden=32):
        super().__init__()
        self.rise = nn.Linear(size, hidden)
        self.middle = nn.Linear(hidden, hidden)
        self.fall = nn.Linear(hidden, size)

    def forward(self, x):
        return self.fall(functional.gelu(self.middle(functional.gelu(self.rise(x)))))


class Table(nn.Embedding):
    """``torch.nn.Embedding`` without a row for padding. ids [B, T] int -> [B, T, D]."""

    def __init__(self, rows=11, size=6):
        super().__init__(rows, size)

    def forward(self, ids):
        return super().forward(ids)
