"""The backend under test, in three dtypes, and the float64 reference. No test here names a backend."""

import numpy as np
import pytest

from transformer_mb.built_in import BUILT_IN
from transformer_mb.conformance.small_models import ONE_LAYER
from transformer_mb.divergences import of_case
from transformer_mb.errors import BackendError, LackingError
from transformer_mb.registry import get_backend, load_backend_class, requested_name


def pytest_report_header(config):
    return f"backend: {config.getoption('--backend')}"


def divergences_of(name):
    """The rows of a backend; of one that cannot be had none, which the tests say themselves."""
    try:
        return getattr(load_backend_class(requested_name(name)), "divergences", ())
    except BackendError:
        return ()


def pytest_collection_modifyitems(config, items):
    known = divergences_of(config.getoption("--backend"))
    for item in items:
        if row := of_case(known, item.nodeid):
            item.add_marker(pytest.mark.xfail(reason=str(row), strict=True))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request):
    return (yield from lacking_is_skipped())


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    return (yield from lacking_is_skipped())


def lacking_is_skipped():
    """Leave out what needs a switch that the backend declares it lacks."""
    try:
        return (yield)
    except LackingError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def backend_name(request):
    return requested_name(request.config.getoption("--backend"))


@pytest.fixture(scope="session")
def divergences(backend_name):
    return divergences_of(backend_name)


@pytest.fixture(scope="session")
def backend(backend_name):
    return get_backend(backend_name, dtype="float64")


@pytest.fixture(scope="session")
def backend32(backend_name):
    return get_backend(backend_name, dtype="float32")


@pytest.fixture(scope="session")
def reference():
    return get_backend("numpy", dtype="float64")


@pytest.fixture(scope="session")
def model(backend):
    """For all tests that leave its weights as they are: what a backend compiles for a model is compiled once."""
    return backend.build(ONE_LAYER, seed=11)


@pytest.fixture(scope="session")
def in_reference(backend, reference):
    """The reference and a model with the same weights in it: its whole forward passes say what a search must find."""

    def copied(model):
        copy = reference.create_empty(model.config)
        reference.set_weights(copy, backend.get_weights(model))
        return reference, copy

    return copied


@pytest.fixture
def rng():
    return np.random.default_rng(20170612)


@pytest.fixture
def backend_in(backend_name):
    """The backend in another dtype, where its framework computes in it: what it offers the registry says."""

    def chosen(dtype):
        if backend_name not in BUILT_IN or dtype not in BUILT_IN[backend_name].dtypes:
            pytest.skip(f"the backend does not compute in {dtype}")
        return get_backend(backend_name, dtype=dtype)

    return chosen
