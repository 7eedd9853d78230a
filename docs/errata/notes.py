"""The German-English notes."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import transformer_mb as tmb
from transformer_mb.positions import sinusoid_table

from .figure import Figure
from .message import message

SMALL = {"num_hiddens": 64, "ffn_num_hiddens": 128, "encoder_num_layers": 2, "decoder_num_layers": 2}


def by_token_id(weights, config):
    """The published weights as a model of ours: the position table folded into the embeddings, true positions zero."""
    folded = dict(weights)
    for side, size in (("encoder", config.source_vocab_size), ("decoder", config.target_vocab_size)):
        folded[f"{side}.embedding.weight"] = weights[f"{side}.embedding.weight"] + sinusoid_table(size, config.num_hiddens)
        folded[f"{side}.pos_embedding.weight"] = np.zeros((config.max_len, config.num_hiddens))
    return folded


def positions_by_token_id():
    """The encoder reads four words forwards and backwards; its states are then put into one order."""
    backend = tmb.get_backend("numpy", dtype="float64")
    config = tmb.presets.notes_de_en(6, 9, **SMALL, max_len=10)
    published = config.replace(position="learned")
    ours = backend.build(config, 0, "torch_default")
    theirs = backend.create_empty(published)
    backend.set_weights(theirs, by_token_id(backend.get_weights(ours), published))
    words = np.array([[1, 2, 3, 4]])
    found = {}
    # Sums of the same numbers in another order, against sizes of about 1.
    for name, model, bounds in (("by token id", theirs, {"at_most": 1e-12}), ("by true position", ours, {"at_least": 0.1})):
        apart = backend.encode(model, words, [4]) - backend.encode(model, words[:, ::-1], [4])[:, ::-1]
        found[f"{name}, the order makes a difference of"] = Figure(np.abs(apart).max(), **bounds)
    return found


def embeddings_as_ids():
    """The first listing gives the position table the embeddings, not the ids."""
    words, positions = nn.Embedding(6, 8), nn.Embedding(6, 8)
    return {"looked up": message(lambda: positions(words(torch.tensor([[1, 2, 3]]))))}


def norm_at_every_call():
    class Sublayer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.fc = nn.Linear(width, width, bias=False)

        def forward(self, X):
            return nn.LayerNorm(X.shape[-1])(self.fc(X) + X)

    sublayer = Sublayer(8)
    first, second = (sublayer(torch.ones(1, 8)).grad_fn for _ in range(2))
    learned = 2 * 512 * (6 * 2 + 6 * 3)
    return {
        "parameters of the sublayer": ", ".join(name for name, _ in sublayer.named_parameters()),
        "one norm for two calls": first is second,
        "parameters that the full model lacks": f"{learned:,}",
    }


def greedy_without_end():
    """Twenty untrained models of width 64, stopped here after 100 tokens; the published loop knows no limit.

    Of each of five twenties of seeds six or seven went on. Rounding decides where two words are nearly as likely.
    """
    backend = tmb.get_backend("numpy")
    full_stop = {"eos_id": 8}  # its loop ends at "." and not at E
    config = tmb.presets.notes_de_en(6, 9, **SMALL, max_len=100, **full_stop)
    decoded = [backend.greedy(backend.build(config, seed, "torch_default"), [[1, 2, 3, 4, 0]], [4], 100) for seed in range(20)]
    return {"still going after 100 tokens": Figure(sum(len(ids[0]) == 100 for ids in decoded), "{} of 20", at_least=1)}


def cuda_of_the_processor():
    """The device falls back to the CPU, but .cuda(device) does not."""
    device = torch.device("cpu")
    return {
        ".cuda(device)": message(lambda: torch.zeros(1).cuda(device)),
        ".to(device)": message(lambda: torch.zeros(1).to(device)),
    }


def softmax_not_sigmoid():
    scores, label = torch.tensor([[2.0, 1.0, -1.0]]), torch.tensor([0])
    return {
        "CrossEntropyLoss": f"{nn.CrossEntropyLoss()(scores, label).item():.4f}",
        "by softmax": f"{-torch.softmax(scores, -1)[0, 0].log().item():.4f}",
        "by sigmoid": f"{-torch.sigmoid(scores)[0, 0].log().item():.4f}",
    }


DEMONSTRATIONS = {
    "positions-by-token-id": positions_by_token_id,
    "embeddings-as-ids": embeddings_as_ids,
    "norm-at-every-call": norm_at_every_call,
    "greedy-without-end": greedy_without_end,
    "cuda-of-the-processor": cuda_of_the_processor,
    "softmax-not-sigmoid": softmax_not_sigmoid,
}
