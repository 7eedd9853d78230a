"""The pairs: layers of other people in two frameworks that compute the same, with the map of their weights.

``layers/`` holds what a pair calls: a framework's own layer, made to take the pair's inputs, or a port of one written for this.
No file there imports another one, so that a copy with a planted mistake is complete by itself.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from transformer_mb import check
from transformer_mb.check import floats, ids, lengths, stack, weight

LAYERS = Path(__file__).parent / "layers"
D, HEADS = 16, 4  # the sizes that all layers with attention have by default


@dataclass(frozen=True)
class Pair:
    """Two subjects, the map of weights from the reference's names, the inputs and their sizes, and options of ``check``."""

    reference: check.Subject
    candidate: check.Subject
    weights: dict | None
    inputs: dict
    sizes: dict
    options: dict = field(default_factory=dict)


def layer(file: str) -> str:
    """The factory in a file of ``layers/``."""
    return f"{LAYERS / file}"


TORCH, HUGGING_FACE, PADDLE = "torch_layers.py", "hugging_face.py", "paddle_layers.py"


def torch(name, **options):
    return check.torch(layer(f"{TORCH}:{name}"), **options)


def hugging_face(name):
    return check.torch(layer(f"{HUGGING_FACE}:{name}"))


def dense(of, to, *, bias=True):
    """A linear layer of torch, [out, in], by the same layer of flax, [in, out]."""
    return {f"{of}.weight": f"{to}.kernel.T"} | ({f"{of}.bias": f"{to}.bias"} if bias else {})


def norm(of, to):
    return {f"{of}.weight": f"{to}.scale", f"{of}.bias": f"{to}.bias"}


def by_heads(prefix, out="out"):
    """The packed projections of torch's attention by kernels with an axis of heads: [D, H, D/H], and [H, D/H, D] at the end."""
    parts = [f"{prefix}{part}" for part in ("query", "key", "value")]
    return {
        "in_proj_weight": stack(*(weight(f"{part}.kernel").reshape(D, D).transpose(1, 0) for part in parts)),
        "in_proj_bias": stack(*(weight(f"{part}.bias").reshape(D) for part in parts)),
        "out_proj.weight": weight(f"{prefix}{out}.kernel").reshape(D, D).transpose(1, 0),
        "out_proj.bias": f"{prefix}{out}.bias",
    }


def apart(prefix, packed=""):
    """The packed projections of torch's attention by three layers of Paddle, [in, out]."""
    parts = [f"{prefix}{part}_proj" for part in "qkv"]
    return {
        f"{packed}in_proj_weight": stack(*(f"{part}.weight.T" for part in parts)),
        f"{packed}in_proj_bias": stack(*(f"{part}.bias" for part in parts)),
        f"{packed}out_proj.weight": f"{prefix}out_proj.weight.T",
        f"{packed}out_proj.bias": f"{prefix}out_proj.bias",
    }


ROWS = {"x": floats("B", "T", D), "lens": lengths("B", up_to="T")}
MEMORY = {"x": floats("B", "T", D), "memory": floats("B", "S", D), "lens": lengths("B", up_to="S")}
SHORT, LONG = {"B": 3, "T": 5}, {"B": 3, "T": 4, "S": 6}

NNX_ENCODER = {
    "self_attn.in_proj_weight": "self_attn.in_proj.kernel.T",
    "self_attn.in_proj_bias": "self_attn.in_proj.bias",
    **dense("self_attn.out_proj", "self_attn.out_proj"),
    **dense("linear1", "linear1"),
    **dense("linear2", "linear2"),
    **norm("norm1", "norm1"),
    **norm("norm2", "norm2"),
}
PADDLE_ENCODER = {
    **apart("self_attn.", "self_attn."),
    **{f"{name}.weight": f"{name}.weight.T" for name in ("linear1", "linear2")},
    **{f"{name}.weight": f"{name}.weight" for name in ("norm1", "norm2")},
    **{f"{name}.bias": f"{name}.bias" for name in ("linear1", "linear2", "norm1", "norm2")},
}
BERT = {
    **{
        name: entry
        for one, ours in (("query", "W_q"), ("key", "W_k"), ("value", "W_v"))
        for name, entry in dense(f"attention.self.{one}", f"attention.{ours}").items()
    },
    **dense("attention.output.dense", "attention.W_o"),
    **norm("attention.output.LayerNorm", "addnorm1.ln"),
    **dense("intermediate.dense", "ffn.dense1"),
    **dense("output.dense", "ffn.dense2"),
    **norm("output.LayerNorm", "addnorm2.ln"),
}
ATTENDING, FEEDING = "attending", "feed_forward"
T5 = {
    **{f"layer.0.SelfAttention.{one}.weight": f"{ATTENDING}.SelfAttention.{one}.kernel.T" for one in "qkvo"},
    "layer.0.SelfAttention.relative_attention_bias.weight": f"{ATTENDING}.SelfAttention.relative_attention_bias.embedding",
    "layer.0.layer_norm.weight": f"{ATTENDING}.layer_norm.weight",
    **{f"layer.1.DenseReluDense.{one}.weight": f"{FEEDING}.{one}.kernel.T" for one in ("wi", "wo")},
    "layer.1.layer_norm.weight": f"{FEEDING}.layer_norm.weight",
}
BLOCK = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
GPT2 = {
    "wte.weight": "wte.embedding",
    "wpe.weight": "wpe.embedding",
    **{f"h.{i}.{name}.weight": f"h.{i}.{name}.kernel" for i in range(2) for name in BLOCK},  # both [in, out]
    **{f"h.{i}.{name}.bias": f"h.{i}.{name}.bias" for i in range(2) for name in BLOCK},
    **{key: to for i in range(2) for n in (1, 2) for key, to in norm(f"h.{i}.ln_{n}", f"h.{i}.ln_{n}").items()},
    **norm("ln_f", "ln_f"),
}
LSTM = {
    "weight_ih_l0": "ih.kernel.T",
    "weight_hh_l0": "hh.kernel.T",
    "bias_ih_l0": "ih.bias",
    "bias_hh_l0": "hh.bias",
}
IMAGES = ("strided", "dilated", "grouped")
CONVOLUTION = {
    **{f"{name}.weight": weight(f"{name}.kernel").transpose(3, 2, 0, 1) for name in IMAGES},  # [Y, X, in, out]
    **{f"{name}.bias": f"{name}.bias" for name in IMAGES},
}
NORMS = {**norm("layer", "layer"), "root.weight": "root.scale", **norm("group", "group"), **norm("batch", "batch")}

KERAS = check.keras(layer("keras_attention.py:Attention"))
PERCEPTRON = torch("Perceptron")
PAIRS = {
    "nnx-encoder": Pair(torch("EncoderLayer"), check.flax(layer("nnx_encoder.py:EncoderLayer")), NNX_ENCODER, ROWS, SHORT),
    "paddle-encoder": Pair(
        torch("EncoderLayer", norm_first=True, activation="gelu"),
        check.paddle(layer(f"{PADDLE}:EncoderLayer")),
        PADDLE_ENCODER,
        ROWS,
        SHORT,
    ),
    "paddle-attention": Pair(torch("Attention"), check.paddle(layer(f"{PADDLE}:Attention")), apart(""), MEMORY, LONG),
    "nnx-attention": Pair(
        torch("Attention", causal=True),
        check.flax(layer("nnx_attention.py:Attention"), causal=True),
        by_heads(""),
        MEMORY,
        LONG,
    ),
    "linen-attention": Pair(
        torch("Attention"), check.linen(layer("linen_attention.py:Attention")), by_heads("attention."), MEMORY, LONG
    ),
    **{
        f"keras-attention-{backend}": Pair(
            torch("Attention"), KERAS.on(backend), by_heads("attention.", "attention_output"), MEMORY, LONG
        )
        for backend in ("tensorflow", "jax", "torch")
    },
    "bert": Pair(hugging_face("Bert"), check.flax(layer("our_block.py:Block")), BERT, ROWS, SHORT),
    "t5": Pair(hugging_face("T5"), check.flax(layer("t5_nnx.py:Block")), T5, ROWS, {"B": 3, "T": 7}),
    "gpt2": Pair(
        hugging_face("GPT2"), check.flax(layer("gpt2_nnx.py:GPT2")), GPT2, {"ids": ids("B", "T", below=23)}, {"B": 3, "T": 6}
    ),
    "lstm": Pair(
        torch("Recurrent"), check.flax(layer("lstm_nnx.py:Recurrent")), LSTM, {"x": floats("B", "T", 6)}, {"B": 3, "T": 4}
    ),
    "convolution": Pair(
        torch("Convolutions"),
        check.flax(layer("convolution_nnx.py:Convolutions")),
        CONVOLUTION,
        {"x": floats("B", 4, "Y", "X")},
        {"B": 2, "Y": 8, "X": 7},
    ),
    "norms": Pair(
        torch("Norms"), check.flax(layer("norms_nnx.py:Norms")), NORMS, {"x": floats("B", "T", 12)}, {"B": 4, "T": 5}
    ),
    "compiled": Pair(
        check.flax(layer("nnx_encoder.py:EncoderLayer")),
        check.flax(layer("nnx_encoder.py:EncoderLayer")).compiled(),
        None,
        ROWS,
        SHORT,
    ),
    "int8": Pair(PERCEPTRON, PERCEPTRON.quantized("int8"), None, {"x": floats("B", "T", D)}, SHORT),
    # Two more, for mistakes that no layer above can hold.
    "embedding": Pair(
        torch("Table"), check.paddle(layer(f"{PADDLE}:Table")), {"weight": "weight"}, {"ids": ids("B", "T", below=11)}, SHORT
    ),
    "optimizers": Pair(
        check.function(layer("torch_optimizers.py:every"), of="torch"),
        check.function(layer("jax_optimizers.py:every"), of="flax"),
        None,
        {
            **{"a": floats("N"), "b": floats("M"), "da": floats(10, "N"), "db": floats(10, "M")},
            "betas": np.array([0.9, 0.999]),
        },
        {"N": 5, "M": 3},
        {"gradients": False},
    ),
}
