"""A layer that computed in one dtype and then in another: nothing of the first is left in the second."""

import numpy as np

from transformer_mb.config import CHOICES
from transformer_mb.positions import sinusoid_table
from transformer_mb.registry import BUILT_IN, get_backend

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
