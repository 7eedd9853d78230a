"""JAX computes in float32 inside what is given in two bytes."""

import jax
import jax.numpy as jnp
import pytest

from transformer_mb.backends.jax import LayerNorm
from transformer_mb.backends.jax.attention import _scores


@pytest.mark.parametrize("kind", ["layer_norm", "std_norm", "rms_norm"])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_a_norm_is_rounded_once_before_its_scale(dtype, kind):
    """JAX itself sums in float32; differences, squares and quotients are to be so too."""
    program = jax.make_jaxpr(LayerNorm(8, kind=kind, param_dtype=dtype))(jnp.ones((2, 8), dtype))
    found = {one.primitive.name: str(one.outvars[0].aval.dtype) for one in program.eqns}
    computed = {name: found[name] for name in ("square", "div", "sqrt", "sub") if name in found}
    assert len(computed) >= 2 and set(computed.values()) == {"float32"}, found
    assert program.out_avals[0].dtype == dtype


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_scores_of_one_query_and_of_several(dtype, steps):
    """Rounded to float16 before the softmax, a score of 16 could be off by 2^-7."""
    assert _scores(jnp.ones((2, 4, steps, 8), dtype), jnp.ones((2, 4, 5, 8), dtype)).dtype == jnp.float32
