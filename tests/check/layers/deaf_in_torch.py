"""Small language models in PyTorch, parts of which compute in float32 whatever they are given."""

import torch
from torch import nn
from torch.nn import functional


class Single(nn.Embedding):
    """A table that is read in float32, as ports leave it by mistake."""

    def forward(self, ids):
        return super().forward(ids).float().to(self.weight.dtype)


class SingleLinear(nn.Linear):
    """A dense layer in float32."""

    def forward(self, x):
        return super().forward(x).float().to(x.dtype)


class Model(nn.Module):
    """A table, a norm, two dense layers, and a residual connection around them; ``single`` names what is in float32."""

    def __init__(self, size=6, single=(), epsilon=1e-5):
        super().__init__()
        self.single = single
        self.embed = (Single if "embed" in single else nn.Embedding)(11, size)
        self.norm = nn.LayerNorm(size, epsilon)
        self.one = (SingleLinear if "one" in single else nn.Linear)(size, size)
        self.two = nn.Linear(size, size)

    def forward(self, ids):
        x = self.embed(ids)
        inner = torch.tanh(self.one(self.norm(x)))
        if "glue" in self.single:
            inner = inner.float().to(x.dtype)
        return x + self.two(inner)


class Everywhere(Model):
    """The same, all of it computed in float32."""

    def forward(self, ids):
        weights = {name: value.float() for name, value in self.state_dict(keep_vars=True).items()}
        x = functional.embedding(ids, weights["embed.weight"])
        h = functional.layer_norm(x, x.shape[-1:], weights["norm.weight"], weights["norm.bias"], self.norm.eps)
        h = torch.tanh(functional.linear(h, weights["one.weight"], weights["one.bias"]))
        return (x + functional.linear(h, weights["two.weight"], weights["two.bias"])).to(self.one.weight.dtype)
