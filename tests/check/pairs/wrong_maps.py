"""Mistakes in the maps of weights: entries that a port gets wrong, and the module of the reference that must be named.

Two at the end of the list change nothing that a layer computes, and must not be called mistakes.
"""

from typing import NamedTuple

from transformer_mb.check import stack, weight


class WrongMap(NamedTuple):
    """A pair, what is wrong with its map, the module that must be named ("" is the layer itself), and the entries.

    ``named``: whether it is. Modules that change places are each right with the weights that they are given: what calls them in
    the wrong order is named.
    """

    pair: str
    what: str
    module: str
    entries: dict
    named: bool = True


def packed(parts, ending="kernel", reshape=(16, 16)):
    return stack(*(weight(f"{part}.{ending}").reshape(*reshape).transpose(*reversed(range(len(reshape)))) for part in parts))


WRONG_MAPS = [
    WrongMap(
        "nnx-encoder",
        "a square matrix is not transposed",
        "self_attn",
        {"self_attn.out_proj.weight": "self_attn.out_proj.kernel"},
    ),
    WrongMap(
        "nnx-encoder",
        "two norms change places",
        "norm1",
        {"norm1.weight": "norm2.scale", "norm1.bias": "norm2.bias", "norm2.weight": "norm1.scale", "norm2.bias": "norm1.bias"},
        named=False,
    ),
    WrongMap(
        "paddle-encoder",
        "queries and keys change places",
        "self_attn",
        {"self_attn.in_proj_weight": stack(*(f"self_attn.{part}_proj.weight.T" for part in "kqv"))},
    ),
    WrongMap(
        "paddle-attention",
        "three square matrices are not transposed",
        "",
        {"in_proj_weight": stack(*(f"{part}_proj.weight" for part in "qkv"))},
    ),
    WrongMap("nnx-attention", "keys and values change places", "", {"in_proj_weight": packed(["query", "value", "key"])}),
    WrongMap(
        "linen-attention",
        "the axis of heads is the inner one",
        "",
        {"out_proj.weight": weight("attention.out.kernel").transpose(1, 0, 2).reshape(16, 16).transpose(1, 0)},
    ),
    WrongMap(
        "keras-attention-jax",
        "values and queries change places",
        "",
        {"in_proj_weight": packed(["attention.value", "attention.key", "attention.query"])},
    ),
    WrongMap(
        "bert",
        "biases of queries and values change places",
        "",
        {"attention.self.query.bias": "attention.W_v.bias", "attention.self.value.bias": "attention.W_q.bias"},
    ),
    WrongMap(
        "t5",
        "queries and keys change places",
        "layer.0.SelfAttention",
        {
            "layer.0.SelfAttention.q.weight": "attending.SelfAttention.k.kernel.T",
            "layer.0.SelfAttention.k.weight": "attending.SelfAttention.q.kernel.T",
        },
    ),
    WrongMap(
        "gpt2", "a square matrix is transposed", "h.1.attn.c_proj", {"h.1.attn.c_proj.weight": "h.1.attn.c_proj.kernel.T"}
    ),
    WrongMap(
        "gpt2",
        "two blocks' networks change places",
        "h.0.mlp.c_fc",
        {"h.0.mlp.c_fc.weight": "h.1.mlp.c_fc.kernel", "h.1.mlp.c_fc.weight": "h.0.mlp.c_fc.kernel"},
        named=False,
    ),
    WrongMap(
        "lstm",
        "the input's matrix has the gates in another order",
        "",
        {"weight_ih_l0": weight("ih.kernel")[:, [*range(8, 16), *range(8), *range(16, 32)]].T},
    ),
    WrongMap(
        "convolution",
        "a kernel is flipped",
        "strided",
        {"strided.weight": weight("strided.kernel")[::-1, ::-1].transpose(3, 2, 0, 1)},
    ),
    WrongMap(
        "convolution",
        "rows and columns of a kernel change places",
        "grouped",
        {"grouped.weight": weight("grouped.kernel").transpose(3, 2, 1, 0)},
    ),
]
HARMLESS = [WrongMap("lstm", "two biases that are added change places", "", {"bias_ih_l0": "hh.bias", "bias_hh_l0": "ih.bias"})]
