"""The TransformerEmbedding / PositionWiseFeedForward notebook."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

import transformer_mb as tmb
from transformer_mb.batch import Batch

from .figure import Figure
from .message import message


def device_as_size():
    device = torch.device("cpu")
    return {
        "a table of zeros": message(lambda: torch.zeros(5000, 512, device)),
        "its positions": message(lambda: torch.arange(0, 5000, device)),
        "by name": message(lambda: torch.zeros(5000, 512, device=device)),
    }


def missing_super():
    class FeedForward(nn.Module):
        def __init__(self):
            self.fc1 = nn.Linear(8, 16)

    return {"made": message(FeedForward)}


def epsilon_not_stored():
    class Norm(nn.Module):
        def __init__(self, width, eps=1e-10):
            super().__init__()
            self.gamma = nn.Parameter(torch.ones(width))

        def forward(self, X):
            return self.gamma * X / torch.sqrt(X.var(-1, unbiased=False, keepdim=True) + self.eps)

    return {"called": message(lambda: Norm(8)(torch.ones(1, 8)))}


def one_length_for_both_sides():
    """Keys and values are cut by the shape of the queries."""
    q, k = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    batch, steps, _ = q.shape
    backend = tmb.get_backend("torch")
    layer = backend.layer("MultiHeadAttention", 8, 8, 8, 8, 2, 0.0, True)
    return {
        "5 target steps, 7 source steps": message(lambda: k.view(batch, steps, 2, 4)),
        "ours": backend.apply(layer, q.numpy(), k.numpy(), k.numpy()).shape,
    }


def rows_of_padding():
    """A padded query may attend to nothing; -1e9 everywhere is as good as 0 everywhere."""
    scores = torch.randn(1, 1, 4, 4, generator=torch.Generator().manual_seed(0)) / math.sqrt(2)
    real = torch.tensor([True, True, True, False])
    allowed = real[:, None] & real[None, :] & torch.ones(4, 4, dtype=torch.bool).tril()
    published = torch.softmax(scores.masked_fill(allowed == 0, -1e9), dim=-1)
    ours = tmb.get_backend("torch").masked_softmax(scores, mask=allowed)
    return {"weights of the padded query": published[0, 0, 3].tolist(), "ours": ours[0, 0, 3].tolist()}


def padding_is_always_one():
    """A model for a vocabulary whose padding is 0: the word 1 gets no gradient, and the padding does."""
    published = nn.Embedding(5, 4, padding_idx=1)
    published(torch.tensor([[0, 1, 2]])).sum().backward()
    backend = tmb.get_backend("torch")
    model = backend.build(tmb.presets.fused_embedding(9, 9, pad_id=0, num_hiddens=8, ffn_num_hiddens=8), seed=0)
    batch = Batch(*map(np.array, ([[1, 2, 0]], [2], [[2, 1]], [[1, 3]], [2])))
    found = backend.loss_and_gradients(model, batch)[1]["encoder.embedding.weight"]
    rows = published.weight.grad.abs().sum(-1)
    return {
        "gradient of padding 0 and of word 1": [float(rows[0]), float(rows[1])],
        "ours, is there any": [bool(found[0].any()), bool(found[1].any())],
    }


def padding_vector_overwritten():
    """Xavier weights are drawn for every table, also for the row that is to be zero and is never trained again."""
    torch.manual_seed(0)
    table = nn.Embedding(60, 512, padding_idx=1)
    before = table.weight[1].norm().item()
    nn.init.xavier_uniform_(table.weight.data)
    ours = tmb.get_backend("torch").build(tmb.presets.fused_embedding(60, 60, encoder_num_layers=1, decoder_num_layers=1))
    return {
        "length of the padding vector before": f"{before:.1f}",
        "afterwards": Figure(table.weight[1].norm().item(), at_least=1.0),
        "of a word's vector": Figure(table.weight[2].norm().item(), at_least=1.0),
        "ours": f"{ours.encoder.embedding.weight[1].norm().item():.1f}",
    }


def formula_of_batch_norm():
    """The formula beside LayerNorm takes means over the batch."""
    X = torch.tensor([[1.0, 2.0], [2.0, 3.0]])
    by_formula = (X - X.mean(0)) / torch.sqrt(X.var(0, unbiased=False) + 1e-5)
    return {
        "by the formula": np.round(by_formula.numpy(), 3).tolist(),
        "LayerNorm": np.round(nn.LayerNorm(2)(X).detach().numpy(), 3).tolist(),
    }


DEMONSTRATIONS = {
    "device-as-size": device_as_size,
    "missing-super": missing_super,
    "epsilon-not-stored": epsilon_not_stored,
    "one-length-for-both-sides": one_length_for_both_sides,
    "rows-of-padding": rows_of_padding,
    "padding-is-always-one": padding_is_always_one,
    "padding-vector-overwritten": padding_vector_overwritten,
    "formula-of-batch-norm": formula_of_batch_norm,
}
