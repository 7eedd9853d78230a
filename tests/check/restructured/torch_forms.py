"""The same layers written in ways that hold their weights otherwise: what people change when they port."""

import torch
from torch import nn
from torch.nn import functional


def attention(q, k, v, heads):
    """[B, T, D] each -> [B, T, D]."""
    split = [one.unflatten(-1, (heads, -1)).transpose(1, 2) for one in (q, k, v)]
    return functional.scaled_dot_product_attention(*split).transpose(1, 2).flatten(2)


class Apart(nn.Module):
    """Four linear layers."""

    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj = nn.Linear(size, size), nn.Linear(size, size)
        self.v_proj, self.out_proj = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x):
        return self.out_proj(attention(self.q_proj(x), self.k_proj(x), self.v_proj(x), self.heads))


class Fused(nn.Module):
    """One linear layer for all three, which ``order`` packs; ``interleaved``: head by head, as GPT-NeoX has it."""

    def __init__(self, size, heads, order="qkv", interleaved=False):
        super().__init__()
        self.heads, self.order, self.interleaved = heads, order, interleaved
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)

    def forward(self, x):
        packed = self.qkv(x)
        if self.interleaved:
            packed = packed.unflatten(-1, (self.heads, 3, -1)).transpose(-3, -2).flatten(-3)
        parts = dict(zip(self.order, packed.chunk(3, -1), strict=True))
        return self.out(attention(parts["q"], parts["k"], parts["v"], self.heads))


class KeysAndValues(nn.Module):
    """Queries by themselves, keys and values packed."""

    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_kv, self.to_out = nn.Linear(size, size), nn.Linear(size, 2 * size), nn.Linear(size, size)

    def forward(self, x):
        return self.to_out(attention(self.to_q(x), *self.to_kv(x).chunk(2, -1), self.heads))


class Nameless(nn.Module):
    """Bare matrices, [in, out], whose names say nothing; ``order`` says which is which."""

    def __init__(self, size, heads, order=(2, 0, 3, 1)):
        super().__init__()
        self.heads, self.order = heads, order
        self.m = nn.ParameterList([nn.Parameter(torch.randn(size, size)) for _ in range(4)])
        self.c = nn.ParameterList([nn.Parameter(torch.randn(size)) for _ in range(4)])

    def forward(self, x):
        def linear(number, given):
            return given @ self.m[self.order[number]] + self.c[self.order[number]]

        return linear(3, attention(*(linear(number, x) for number in range(3)), self.heads))


class Conv1D(nn.Module):
    """A linear layer that holds [in, out], as GPT-2's do."""

    def __init__(self, size, out):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(size, out)), nn.Parameter(torch.randn(out))

    def forward(self, x):
        return x @ self.weight + self.bias


class Packed1D(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = Conv1D(size, 3 * size), Conv1D(size, size)

    def forward(self, x):
        return self.c_proj(attention(*self.c_attn(x).chunk(3, -1), self.heads))


class Placed(nn.Module):
    """Positions from a bare parameter [1, T, D], before a layer."""

    def __init__(self, size, length):
        super().__init__()
        self.pos_embed = nn.Parameter(torch.randn(1, length, size))
        self.gain = nn.Parameter(torch.randn(size))
        self.fc = nn.Linear(size, size)

    def forward(self, x):
        return self.fc(torch.tanh(x + self.pos_embed[:, : x.shape[1]])) * self.gain


class PlacedByTable(nn.Module):
    """Positions from an embedding."""

    def __init__(self, size, length):
        super().__init__()
        self.positions = nn.Embedding(length, size)
        self.scale = nn.Parameter(torch.randn(size))
        self.dense = Conv1D(size, size)

    def forward(self, x):
        return self.dense(torch.tanh(x + self.positions(torch.arange(x.shape[1])))) * self.scale


class Layer(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.norm, self.attn, self.fc = nn.LayerNorm(size), Apart(size, heads), nn.Linear(size, size)

    def forward(self, x):
        x = x + self.attn(self.norm(x))
        return x + torch.tanh(self.fc(x))


class Listed(nn.Module):
    """Layers in a list."""

    def __init__(self, size, heads, count):
        super().__init__()
        self.layers = nn.ModuleList([Layer(size, heads) for _ in range(count)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Stacked(nn.Module):
    """The same layers, each tensor with an axis of layers in front, and queries, keys and values packed."""

    def __init__(self, size, heads, count):
        super().__init__()
        self.heads, self.count = heads, count
        shapes = {"scale": (size,), "shift": (size,), "qkv_kernel": (size, 3 * size), "qkv_bias": (3 * size,)}
        shapes |= {"out_kernel": (size, size), "out_bias": (size,), "fc_kernel": (size, size), "fc_bias": (size,)}
        self.blocks = nn.ParameterDict({name: torch.randn(count, *shape) for name, shape in shapes.items()})

    def forward(self, x):
        for number in range(self.count):
            at = {name: stack[number] for name, stack in self.blocks.items()}
            h = functional.layer_norm(x, x.shape[-1:], at["scale"], at["shift"])
            h = attention(*(h @ at["qkv_kernel"] + at["qkv_bias"]).chunk(3, -1), self.heads)
            x = x + h @ at["out_kernel"] + at["out_bias"]
            x = x + torch.tanh(x @ at["fc_kernel"] + at["fc_bias"])
        return x


class Patches(nn.Module):
    """Patches of an image by a convolution."""

    def __init__(self, size, channels, edge):
        super().__init__()
        self.proj, self.head = nn.Conv2d(channels, size, edge, edge), nn.Linear(size, size)

    def forward(self, x):
        return self.head(torch.tanh(self.proj(x).flatten(2).transpose(1, 2)))


class FlatPatches(nn.Module):
    """Patches of an image by a linear layer, whose rows are (row, column, channel)."""

    def __init__(self, size, channels, edge):
        super().__init__()
        self.edge = edge
        self.patch, self.head = nn.Linear(channels * edge * edge, size), Conv1D(size, size)

    def forward(self, x):
        e = self.edge
        cells = x.unflatten(3, (-1, e)).unflatten(2, (-1, e)).permute(0, 2, 4, 3, 5, 1)
        return self.head(torch.tanh(self.patch(cells.flatten(3).flatten(1, 2))))


class Recurrent(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.lstm = nn.LSTM(size, hidden, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class Gates(nn.Module):
    """An LSTM whose gates are packed in another order."""

    def __init__(self, size, hidden, order="ofig"):
        super().__init__()
        self.order = order
        self.w_ih, self.w_hh = Conv1D(size, 4 * hidden), Conv1D(hidden, 4 * hidden)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], self.w_hh.weight.shape[0])
        steps = []
        for step in x.unbind(1):
            at = dict(zip(self.order, (self.w_ih(step) + self.w_hh(h)).chunk(4, -1), strict=True))
            c = torch.sigmoid(at["f"]) * c + torch.sigmoid(at["i"]) * torch.tanh(at["g"])
            h = torch.sigmoid(at["o"]) * torch.tanh(c)
            steps.append(h)
        return torch.stack(steps, 1)


class GatesApart(nn.Module):
    """An LSTM of eight linear layers, of which the four of the input have no bias, as flax' has it."""

    def __init__(self, size, hidden):
        super().__init__()
        self.hidden = hidden
        self.ii, self.i_f, self.ig, self.io = (nn.Linear(size, hidden, bias=False) for _ in range(4))
        self.hi, self.hf, self.hg, self.ho = (nn.Linear(hidden, hidden) for _ in range(4))

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], self.hidden)
        steps = []
        for step in x.unbind(1):
            c = torch.sigmoid(self.i_f(step) + self.hf(h)) * c
            c = c + torch.sigmoid(self.ii(step) + self.hi(h)) * torch.tanh(self.ig(step) + self.hg(h))
            h = torch.sigmoid(self.io(step) + self.ho(h)) * torch.tanh(c)
            steps.append(h)
        return torch.stack(steps, 1)
