"""The book's code and the walk-through's: positions, masks, norms and arguments."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import transformer_mb as tmb
from transformer_mb.data import Batches
from transformer_mb.training import Job, TrainingRecipe, train_model

from .figure import Figure
from .message import message

SOURCE, LENGTHS = np.array([[4, 5, 6, 3], [7, 8, 3, 1]]), np.array([4, 3])


def position_zero():
    """Reversing six letters cannot be done without knowing where one is.

    The learning rate ends near zero: with a constant one, whether the last step was a bad one is chance.
    """
    rng = np.random.default_rng(0)
    sentences = [rng.integers(4, 12, size=6).tolist() for _ in range(512)]
    pairs = [(sentence, sentence[::-1]) for sentence in sentences]
    backend = tmb.get_backend("numpy")
    model = backend.build(tmb.presets.d2l(12, 12, dropout=0.0, max_len=10), seed=0)
    recipe = TrainingRecipe(epochs=40, learning_rate=0.005, schedule="linear")
    train_model(Job(backend, Batches(pairs, 64, num_steps=7), recipe), model)
    (batch,) = Batches(pairs, 512, num_steps=7, shuffle=False).epoch(0)

    def reversed_by(switch):
        other = backend.create_empty(model.config.replace(compat_decode=switch))
        backend.set_weights(other, backend.get_weights(model))
        decoded = backend.greedy(other, batch.source, batch.source_valid_lens, 7)
        return sum(ids == target for ids, (_, target) in zip(decoded, pairs, strict=True)) / len(pairs)

    return {
        "every step at its position": Figure(reversed_by("correct"), "{:.0%} reversed", at_least=0.9),
        "every step at position 0": Figure(reversed_by("d2l"), "{:.0%} reversed", at_most=0.1),
    }


def no_causal_mask_in_evaluation():
    """Two targets that differ in their last token alone, in evaluation mode."""
    backend, found = tmb.get_backend("numpy", dtype="float64"), {}
    for name, switch, bounds in (("the book's", "d2l", {"at_least": 0.1}), ("ours", "correct", {"at_most": 0.0})):
        model = backend.build(tmb.presets.d2l(12, 12, compat_decode=switch), seed=1)
        logits = [backend.logits(model, SOURCE, np.array([[2, 4, 5, last]] * 2), LENGTHS) for last in (6, 7)]
        found[f"{name}, first token's logits move by"] = Figure(np.abs(logits[0] - logits[1])[:, 0].max(), **bounds)
    return found


def _add_positions_in_place(X, P):
    X += P[:, : X.shape[1]]
    return X


def positions_in_place():
    P, X = torch.ones(1, 5, 4), torch.zeros(2, 3, 4)
    _add_positions_in_place(X, P)
    leaf = torch.zeros(2, 3, 4, requires_grad=True)
    layer = tmb.get_backend("numpy").layer("PositionalEncoding", 4, 0.0)
    ours = np.zeros((2, 3, 4), np.float32)
    tmb.get_backend("numpy").apply(layer, ours)
    return {
        "the caller's zeros afterwards": f"{X.sum().item():.0f} in sum",
        "an input that wants its gradient": message(lambda: _add_positions_in_place(leaf, P)),
        "ours, the caller's zeros afterwards": f"{ours.sum():.0f} in sum",
    }


def _mask_in_place(X, valid_len, value):
    mask = torch.arange(X.shape[1])[None, :] < valid_len[:, None]
    X[~mask] = value
    return X


def masks_in_place():
    scores = torch.zeros(1, 2, 4)
    _mask_in_place(scores.reshape(-1, 4), torch.tensor([3, 3]), -1e6)  # reshape gives a view, so the scores are written to
    ours = torch.zeros(1, 2, 4)
    tmb.get_backend("torch").masked_softmax(ours, torch.tensor([3]))
    return {"the caller's scores afterwards": f"{scores.min().item():.0f} at the least", "ours": f"{ours.min().item():.0f}"}


def mask_of_minus_a_million():
    """A sequence of valid length 0, as padding a batch to a fixed size gives."""
    single = torch.softmax(torch.full((4,), -1e6), dim=-1)
    half = _mask_in_place(torch.zeros(1, 4, dtype=torch.float16), torch.tensor([0]), -1e6)
    ours = tmb.get_backend("torch").masked_softmax(torch.randn(1, 1, 4), torch.tensor([0]))
    return {
        "float32, weights on padding": single.tolist(),
        "float16, weights on padding": torch.softmax(half, dim=-1)[0].tolist(),
        "ours": ours.flatten().tolist(),
    }


def norm_over_steps():
    """Two inputs that differ in their last step alone; then a single step, as decoding feeds it."""
    torch.manual_seed(0)
    X = torch.randn(1, 6, 8)
    other = X.clone()
    other[0, -1] += 1.0
    found = {}
    for shape, bounds in (([6, 8], {"at_least": 0.05}), ([8], {"at_most": 0.0})):
        layer = nn.LayerNorm(shape)
        found[f"norm_shape {shape}, first step moves by"] = Figure((layer(X) - layer(other))[0, 0].abs().max().item(), **bounds)
        outcome = message(lambda layer=layer: layer(X[:, :1]))
        found[f"norm_shape {shape}, one step alone"] = outcome.split(",")[0]
    return found


def bias_of_the_decoder():
    """The decoder's extra keyword arguments go up to nn.Module."""

    class Decoder(nn.Module):
        def __init__(self, num_hiddens, **kwargs):
            super().__init__(**kwargs)
            self.W_q = nn.Linear(num_hiddens, num_hiddens, bias=False)

    config = tmb.presets.d2l(12, 12, decoder_attention_bias=True)
    names = tmb.get_backend("torch").build(config).state_dict()
    ours = sum(name.startswith("decoder") and ".W_" in name and name.endswith("bias") for name in names)
    return {"asked for": message(lambda: Decoder(8, use_bias=True)), "ours, biases of the decoder's attention": ours}


def misspelt_width():
    """Misspell a parameter, as in the TensorFlow decoder, so that a notebook's global variable is used."""

    def decoder(ffn_num_hidens):
        return ffn_num_hiddens  # noqa: F821

    without = message(lambda: decoder(48))
    decoder.__globals__["ffn_num_hiddens"] = 64
    width = decoder(48)
    del decoder.__globals__["ffn_num_hiddens"]
    return {"in a module": without, "in the notebook, asked for 48": f"{width} built"}


DEMONSTRATIONS = {
    "position-zero": position_zero,
    "no-causal-mask-in-evaluation": no_causal_mask_in_evaluation,
    "positions-in-place": positions_in_place,
    "masks-in-place": masks_in_place,
    "mask-of-minus-a-million": mask_of_minus_a_million,
    "norm-over-steps": norm_over_steps,
    "bias-of-the-decoder": bias_of_the_decoder,
    "misspelt-width": misspelt_width,
}
