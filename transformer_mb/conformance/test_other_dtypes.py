"""Dtypes beside float64: nothing of one is left in the next that a layer computes in, and float16 overflows late."""

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.config import CHOICES
from transformer_mb.positions import sinusoid_table
from transformer_mb.registry import get_backend

STEPS, WIDTH = 20, 6


def test_positions_are_exact_again_after_a_narrower_dtype(backend, backend_name):
    """A table that stayed rounded to bfloat16 would be off by 2e-3 from then on."""
    X = np.zeros((1, STEPS, WIDTH))
    # Of another package's backend nothing is known but that it has float32.
    dtypes = BUILT_IN[backend_name].dtypes if backend_name in BUILT_IN else ("float32",)
    for dtype in set(dtypes) - {"float64"}:
        narrow = get_backend(backend_name, dtype=dtype)
        for layout in CHOICES["sinusoid_layout"]:
            exact = sinusoid_table(STEPS, WIDTH, layout)
            for maker in (backend, narrow):
                layer = maker.layer("PositionalEncoding", WIDTH, 0.0, STEPS, layout=layout)
                rounded = narrow.apply(layer, X)[0]
                np.testing.assert_allclose(rounded, exact, rtol=0, atol=2.0**-8)
                assert (rounded != exact).any()
                np.testing.assert_array_equal(backend.apply(layer, X)[0], exact)


def test_a_dtype_of_numpy_is_the_one_of_its_name(backend_name):
    for dtype in (np.float64, np.float32):
        chosen = get_backend(backend_name, dtype=dtype)
        weights = chosen.get_weights(chosen.layer("LayerNorm", WIDTH))
        assert {array.dtype for array in weights.values()} == {np.dtype(dtype)} and chosen.dtype == np.dtype(dtype).name


@pytest.fixture
def backend16(backend_in):
    return backend_in("float16")


@pytest.mark.two_bytes
@pytest.mark.parametrize("kind", CHOICES["norm_kind"])
def test_norms_of_values_whose_squares_overflow(kind, backend16, reference, rng):
    """400 squared is more than float16 holds."""
    X = np.sign(rng.standard_normal((4, 8))) * rng.uniform(300.0, 500.0, (4, 8))
    X = X.astype(np.float16).astype(np.float64)
    expected = reference.apply(reference.layer("LayerNorm", 8, kind=kind), X)
    np.testing.assert_allclose(backend16.apply(backend16.layer("LayerNorm", 8, kind=kind), X), expected, rtol=0, atol=4e-3)


@pytest.mark.two_bytes
def test_attention_of_queries_whose_products_overflow(backend16):
    """40 * 40 * 64 is more than float16 holds; an eighth of it, the score, is not, and takes the first key alone."""
    queries, values = np.full((1, 2, 64), 40.0), np.arange(192.0).reshape(1, 3, 64)
    keys = np.zeros((1, 3, 64))
    keys[:, 0] = 40.0
    found = backend16.apply(backend16.layer("DotProductAttention", 0.0), queries, keys, values)
    np.testing.assert_array_equal(found, np.repeat(values[:, :1], 2, axis=1))
