"""Run as a script: the German-English notes' model, rewritten from its description, against ours with its weights.

Prints the largest difference of logits in float64 for ours with the position table folded in, and with true positions.
"""

import math

import numpy as np
import torch
from torch import nn

import transformer_mb as tmb
from docs.errata.notes import by_token_id
from transformer_mb.positions import sinusoid_table

WIDTH, HEADS, INNER = 16, 2, 24
SOURCE = torch.tensor([[1, 2, 3, 4, 0], [5, 4, 3, 0, 0]])
TARGET = torch.tensor([[6, 1, 2, 3, 4, 8], [6, 5, 3, 8, 0, 0]])


def norm(X):
    return nn.functional.layer_norm(X, (WIDTH,))


def attend(weights, name, Q, K, allowed):
    def heads(X, projection):
        X = X @ weights[f"{name}.{projection}.weight"].T
        return X.reshape(*X.shape[:2], HEADS, -1).transpose(1, 2)

    q, k, v = heads(Q, "W_q"), heads(K, "W_k"), heads(K, "W_v")
    scores = (q @ k.transpose(-1, -2) / math.sqrt(WIDTH / HEADS)).masked_fill(~allowed, -1e9)
    mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)
    return norm(mixed @ weights[f"{name}.W_o.weight"].T + Q)


def feed_forward(weights, name, X):
    inner = torch.relu(X @ weights[f"{name}.dense1.weight"].T)
    return norm(inner @ weights[f"{name}.dense2.weight"].T + X)


def published(weights, layers):
    """Post-norm without bias or affine norm; the positions of a table with a row for each word of the vocabulary."""
    real_source, real_target = (tokens.ne(0)[:, None, None, :] for tokens in (SOURCE, TARGET))

    def embed(side, tokens):
        table = weights[f"{side}.embedding.weight"]
        return table[tokens] + torch.from_numpy(sinusoid_table(len(table), WIDTH))[tokens]

    X = embed("encoder", SOURCE)
    for i in range(layers):
        X = attend(weights, f"encoder.blks.block{i}.attention", X, X, real_source)
        X = feed_forward(weights, f"encoder.blks.block{i}.ffn", X)
    Y = embed("decoder", TARGET)
    past = torch.ones(TARGET.shape[1], TARGET.shape[1], dtype=torch.bool).tril()
    for i in range(layers):
        Y = attend(weights, f"decoder.blks.block{i}.attention1", Y, Y, real_target & past)
        Y = attend(weights, f"decoder.blks.block{i}.attention2", Y, X, real_source)
        Y = feed_forward(weights, f"decoder.blks.block{i}.ffn", Y)
    return (Y @ weights["decoder.dense.weight"].T).numpy()


def main():
    sizes = {"num_hiddens": WIDTH, "ffn_num_hiddens": INNER, "encoder_num_heads": HEADS, "decoder_num_heads": HEADS}
    config = tmb.presets.notes_de_en(6, 9, **sizes, max_len=8)
    backend = tmb.get_backend("torch", dtype="float64")
    plain = backend.build(config, 4, "torch_default")
    weights = backend.get_weights(plain)
    expected = published({name: torch.from_numpy(value) for name, value in weights.items()}, config.encoder_num_layers)
    folded = backend.create_empty(config.replace(position="learned"))
    backend.set_weights(folded, by_token_id(weights, folded.config))
    real = TARGET.ne(0).numpy()  # padded target rows differ: theirs attend to real words before them, which no loss sees
    for model in (folded, plain):
        got = backend.logits(model, SOURCE.numpy(), TARGET.numpy(), SOURCE.ne(0).sum(1).numpy())
        print(np.abs(got - expected)[real].max())


if __name__ == "__main__":
    main()
