"""The position-wise feed-forward network."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.config import check_choice, check_sizes
from transformer_mb.layer_calls import Called

from .dropout import Dropout
from .given import features
from .linear import Linear


def _gelu_tanh(X: Array) -> Array:
    """GELU with sigmoid(2u) for (1 + tanh u) / 2, but in 16-bit formats, where sigmoid's slope errs twice as much.

    XLA's tanh of float64 stops 8e-16 short of 1, which the gradient multiplies by X^3, and that of float32 on a GPU (jaxlib
    0.11.2, an H200) makes the network's output err 17 times as much as NumPy's does.
    """
    if X.dtype.itemsize == 2:
        return jax.nn.gelu(X, approximate=True)
    return X * jax.nn.sigmoid(2.0 * math.sqrt(2.0 / math.pi) * (X + 0.044715 * X**3))


# jax.nn.gelu is the tanh approximation by default.
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "gelu": partial(jax.nn.gelu, approximate=False),
    "gelu_tanh": _gelu_tanh,
    "silu": jax.nn.silu,
}


class PositionWiseFFN(Called, nnx.Module):
    def __init__(
        self,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        ffn_num_outputs: int,
        *,
        activation: str = "relu",
        dropout: float = 0.0,
        use_bias: bool = True,
        gated: bool = False,
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,
    ):
        check_choice("activation", activation)
        check_sizes(ffn_num_input=ffn_num_input, ffn_num_hiddens=ffn_num_hiddens, ffn_num_outputs=ffn_num_outputs)
        rngs = rngs or nnx.Rngs(0)
        linear = partial(Linear, use_bias=use_bias, param_dtype=param_dtype, rngs=rngs)
        self.dense1 = linear(ffn_num_input, ffn_num_hiddens)
        self.activation = ACTIVATIONS[activation]
        self.dropout = Dropout(dropout, rngs=rngs)
        self.dense2 = linear(ffn_num_hiddens, ffn_num_outputs)
        self.dense3 = linear(ffn_num_input, ffn_num_hiddens) if gated else None

    def __call__(self, X: Array) -> Array:
        features("The input of PositionWiseFFN", X, self.dense1)
        hidden = self.activation(self.dense1(X))
        return self.dense2(self.dropout(hidden if self.dense3 is None else hidden * self.dense3(X)))
