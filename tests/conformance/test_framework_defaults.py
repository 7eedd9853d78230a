"""What docs/VARIANTS.md says of the frameworks' own layer norms, by the formula and by measurement."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "norm_defaults.py"
# As the page's table has them.
EPSILON = {"tensorflow": 1e-3, "jax": 1e-6}


def test_the_frameworks_own_epsilon(backend_name):
    spec = importlib.util.spec_from_file_location("norm_defaults", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    expected = np.sqrt(1.0 / (1.0 + EPSILON.get(backend_name, 1e-5) / example.DEVIATION**2))
    assert example.deviation_after(backend_name) == pytest.approx(expected, rel=1e-5)
