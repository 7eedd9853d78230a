"""jax.jit, on XLA."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..calls import Table, runs
from .arrays import called


def round_trip(x: jax.Array) -> jax.Array:
    return x.astype(jnp.bfloat16).astype(jnp.float32)


TABLES: dict[str, Table] = {
    "compilation": called(
        through_bfloat16=round_trip,
        through_bfloat16_compiled=jax.jit(round_trip),
        sum_less_first=jax.jit(lambda x, y: x + y - x),
        logarithm_of_power=jax.jit(lambda x: jnp.log2(jnp.exp2(x))),
        multiply_add=jax.jit(lambda x, y, z: x * y + z),
        third=jax.jit(lambda x: x / 3.0),
    )
    | {"runs": runs(jax.jit, jnp.asarray)},
}
