"""Why versions differ, as their installed sources say: what was measured is told apart from what was read."""

from __future__ import annotations

CAUSES = {
    "jax": {
        "a seed's uniform numbers": (
            "`jax_threefry_partitionable` is off by default in 0.4.38 and on in 0.7.1 (`jax/_src/config.py`), which numbers "
            "the draws otherwise: every key gives other numbers, and a longer draw begins with those of a shorter one "
            "(announced in jax-ml/jax discussion 18480)."
        ),
        "squared error of a column and a row": (
            "Optax 0.2.5 checks the shapes with chex, which raises AssertionError, Optax 0.2.8 with a check of its own, which "
            "raises ValueError (`optax/losses/_regression.py`)."
        ),
        "prelu first slope": "Flax 0.10.4 has no `nnx.PReLU`, Flax 0.12.0 does (`flax/nnx/nn/activations.py`).",
    },
    "torch": {
        "attention layer without any key": (
            "`MultiheadAttention` took a plain softmax of minus infinities in 1.13 and calls `scaled_dot_product_attention`, "
            "whose softmax gives zeros, in 2.13 (`torch/nn/functional.py`), where no weights are asked for."
        ),
        "padding that leaves an encoder": (
            "`TransformerEncoder` made its nested result as wide as the longest sentence (`to_padded_tensor(0.)`) and makes it "
            "as wide as its input since (`to_padded_tensor(0.0, src.size())`, `torch/nn/modules/transformer.py`)."
        ),
        "SGD learning rate": (
            "`lr=required` became `lr=1e-3` (`torch/optim/sgd.py`; pytorch/pytorch#114467): a program that names no rate runs "
            "now."
        ),
    },
}
