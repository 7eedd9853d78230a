"""The backend under test, in three dtypes, and the float64 reference. No test here names a backend."""

import numpy as np
import pytest

from transformer_mb.divergences import DIVERGENCES
from transformer_mb.registry import get_backend, requested_name


def pytest_report_header(config):
    return f"backend: {config.getoption('--backend')}"


def pytest_collection_modifyitems(config, items):
    name = config.getoption("--backend")
    for item in items:
        for row in DIVERGENCES:
            if row.backend == name and item.nodeid.endswith(row.case):
                item.add_marker(pytest.mark.xfail(reason=f"{row.kind}: {row.reason} ({row.link})", strict=True))


@pytest.fixture(scope="session")
def backend_name(request):
    return requested_name(request.config.getoption("--backend"))


@pytest.fixture(scope="session")
def backend(backend_name):
    return get_backend(backend_name, dtype="float64")


@pytest.fixture(scope="session")
def backend32(backend_name):
    return get_backend(backend_name, dtype="float32")


@pytest.fixture(scope="session")
def reference():
    return get_backend("numpy", dtype="float64")


@pytest.fixture
def rng():
    return np.random.default_rng(20170612)
