"""Flax: nnx.Embed."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from flax import nnx

NONE = "flax.nnx.Embed has no padding row."
ABSENT = {"embed_with_padding": NONE, "fresh_padding_row": NONE}


def embed(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    layer = nnx.Embed(*table.shape, embedding_init=lambda *_: jnp.asarray(table), rngs=nnx.Rngs(0))
    return np.asarray(layer(jnp.asarray(ids)))
