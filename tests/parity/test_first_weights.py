"""First weights of models and layers are held to their law, and mistakes in how they are made fail."""

import numpy as np
import pytest
from scipy import stats

from transformer_mb import initialization
from transformer_mb.backends.numpy import BACKEND, framework
from transformer_mb.backends.numpy import normalization as numpy_normalization
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing import reference
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.controls.requests import CONTROLS
from transformer_mb.parity.rows.first_weights import AS_MADE, HIDDEN, first_experiments
from transformer_mb.parity.selection import matches
from transformer_mb.parity.verdict.answers import judged
from transformer_mb.parity.verdict.first_weights import BELOW, BOUNDS, QUANTILES, WITHIN
from transformer_mb.random_streams import stream
from transformer_mb.rounding import rounded


def found(dtype="float32", seed=0, label="numpy", backend=None):
    """The result of each case by the first word of its name."""
    backend = backend or BACKEND(dtype=dtype)
    results = [judged(each, label, lambda request: compute(backend, request)) for each in first_experiments(dtype, seed)]
    return {result.case.partition(",")[0]: result for (result,) in results}


def statuses(**given):
    return {case: result.status for case, result in found(**given).items()}


LAWS = {
    "uniform": stats.uniform(-1.0, 2.0),
    "normal": stats.norm(),
    # SciPy's, of deviation 1: cut at two deviations of what it is cut from.
    "truncated": stats.truncnorm(-2.0, 2.0, scale=1.0 / stats.truncnorm(-2.0, 2.0).std()),
}


@pytest.mark.parametrize("law", QUANTILES)
def test_quantiles_are_those_of_scipy(law):
    shares = [*BELOW, *((1.0 + share) / 2.0 for share in WITHIN)]
    np.testing.assert_allclose([QUANTILES[law](share) for share in shares], LAWS[law].ppf(shares), atol=1e-12)
    assert BOUNDS[law] == pytest.approx(LAWS[law].support()[1])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy_begins_by_its_laws(dtype, seed):
    assert set(statuses(dtype=dtype, seed=seed).values()) == {PASSED}


def test_another_frameworks_law_fails():
    """So each law of the table is one that a backend can miss."""
    for label in ("torch", "tensorflow", "paddle", "mxnet", "jax"):
        assert found(label=label)[AS_MADE].status == FAILED, label


def test_of_an_unknown_backend_norms_and_differences_are_judged(monkeypatch):
    assert statuses(label="another")[AS_MADE] == PASSED
    begin_with(monkeypatch, alike)
    assert "has the signs of" in found(label="another")[AS_MADE].reason


def begin_with(monkeypatch, draw):
    monkeypatch.setattr(framework, "initial_weight", lambda *sizes: draw(*sizes).astype(np.float32))


def linear(limit):
    """Uniform weights within a limit of inputs and outputs."""
    return lambda outputs, inputs: np.random.default_rng().uniform(-1.0, 1.0, (outputs, inputs)) * limit(inputs, outputs)


def alike(outputs, inputs):
    return np.random.default_rng(0).uniform(-1.0, 1.0, (outputs, inputs)) * np.sqrt(6.0 / (inputs + outputs))


MADE = {
    "a gain of the root of a half": linear(lambda inputs, outputs: np.sqrt(3.0 / (inputs + outputs))),
    "a gain of the root of two": linear(lambda inputs, outputs: np.sqrt(12.0 / (inputs + outputs))),
    "inputs alone": linear(lambda inputs, outputs: np.sqrt(3.0 / inputs)),
    "outputs alone": linear(lambda inputs, outputs: np.sqrt(3.0 / outputs)),
    "no negative numbers": lambda outputs, inputs: np.abs(alike(outputs, inputs)),
    "layers alike": alike,
    "rows alike": lambda outputs, inputs: np.repeat(alike(1, inputs + outputs - 1)[:, :inputs], outputs, axis=0),
    "normal numbers of the same deviation": lambda outputs, inputs: (
        np.random.default_rng().standard_normal((outputs, inputs)) * np.sqrt(2.0 / (inputs + outputs))
    ),
}


class Numpy:
    """NumPy, but for some of its functions."""

    def __init__(self, **functions):
        vars(self).update(functions)

    def __getattr__(self, name):
        return getattr(np, name)


@pytest.mark.parametrize("mistake", MADE)
def test_a_mistake_in_linear_weights_fails(mistake, monkeypatch):
    begin_with(monkeypatch, MADE[mistake])
    assert statuses() == {"xavier": PASSED, "torch_default": PASSED, AS_MADE: FAILED}


@pytest.mark.parametrize("module", [framework, numpy_normalization])
def test_a_bias_in_another_dtype_than_its_class_makes_fails(module, monkeypatch):
    """Zeros are the same in each dtype, and the backend puts what it makes into its own."""
    monkeypatch.setattr(module, "np", Numpy(zeros=lambda size, dtype: np.zeros(size, np.float16)))
    result = found()[AS_MADE]
    assert result.status == FAILED and "bias must be float32, got float16" in result.reason
    assert statuses(dtype="float64")[AS_MADE] == PASSED


@pytest.mark.parametrize("mistake", [{"zeros": np.ones}, {"ones": np.zeros}])
def test_a_norm_that_does_not_begin_as_the_identity_fails(mistake, monkeypatch):
    monkeypatch.setattr(numpy_normalization, "np", Numpy(**mistake))
    result = found()[AS_MADE]
    assert result.status == FAILED and "must begin as" in result.reason


@pytest.mark.parametrize("change", [lambda weights: weights * np.sqrt(0.5), lambda weights: weights + 0.2])
def test_a_mistake_in_tables_fails(change, monkeypatch):
    class Generator:
        def __init__(self):
            self.random = np.random.default_rng().random

        def standard_normal(self, shape, dtype):
            return change(np.random.default_rng().standard_normal(shape, dtype)).astype(dtype)

    monkeypatch.setattr(framework, "_initial", Generator())
    assert statuses() == {"xavier": PASSED, "torch_default": PASSED, AS_MADE: FAILED}


def of_the_scheme(change):
    """The limits of uniform weights, of which each scheme's are changed."""
    schemes = dict(initialization.SCHEMES)
    return {name: lambda *given, name=name: change(schemes[name](*given), *given) for name in schemes}


NEUTRAL = {
    "a gain of the root of two": of_the_scheme(lambda limit, *given: limit * np.sqrt(2.0)),
    "half as wide": of_the_scheme(lambda limit, *given: limit / 2.0),
    "biases are drawn": of_the_scheme(lambda limit, *given: limit or 0.01),
    "outputs for inputs": of_the_scheme(
        lambda limit, name, shapes, width: limit * np.sqrt(width / HIDDEN if "dense1" in name else 1.0)
    ),
}


@pytest.fixture
def both_sides():
    """The reference shares the neutral half: what it has answered before is of the right one."""
    reference.backend.cache_clear()
    yield
    reference.backend.cache_clear()


@pytest.mark.parametrize("mistake", NEUTRAL)
def test_a_mistake_in_a_scheme_fails_though_both_sides_share_it(mistake, both_sides, monkeypatch):
    monkeypatch.setattr(initialization, "SCHEMES", NEUTRAL[mistake])
    assert FAILED in (statuses()["xavier"], statuses()["torch_default"])


STREAMS = {
    "of no name": lambda *keys: stream(*keys[:2]),
    "of no seed": lambda seed, *keys: stream(0, *keys),
    "of no layer": lambda *keys: stream(*keys[:2], keys[2].replace("encoder", "decoder")),
}


@pytest.mark.parametrize("mistake", STREAMS)
def test_numbers_that_arrays_share_fail(mistake, both_sides, monkeypatch):
    monkeypatch.setattr(initialization, "stream", STREAMS[mistake])
    assert set(statuses(seed=1).values()) >= {FAILED}


def test_one_number_that_differs_from_the_reference_fails():
    class Off(BACKEND):
        def assign_weights(self, module, weights):
            weights = {name: value.copy() for name, value in weights.items()}
            name = "encoder.embedding.weight"
            weights[name].flat[-1] = np.nextafter(np.float32(weights[name].flat[-1]), np.float32(9.0))
            super().assign_weights(module, weights)

    result = found(backend=Off(dtype="float32"))["xavier"]
    assert result.status == FAILED and "differs from what its seed gives" in result.reason


def test_weights_of_more_digits_than_their_dtype_has_fail():
    """NumPy's of float32 as those of a backend in bfloat16; rounded they pass."""

    class Rounding(BACKEND):
        def get_weights(self, module):
            return {name: rounded(value, "bfloat16") for name, value in super().get_weights(module).items()}

    assert statuses(dtype="bfloat16", backend=BACKEND(dtype="float32")) == {"xavier": FAILED}
    assert statuses(dtype="bfloat16", backend=Rounding(dtype="float32")) == {"xavier": PASSED}


def test_every_control_is_caught_in_float64_too():
    """In float64 a run plants the first alone."""
    controls = [control for control in CONTROLS if control.row == "first weights"]
    assert len(controls) >= 5
    backend = BACKEND(dtype="float64")
    for control in controls:
        experiment = next(each for each in first_experiments("float64", 0) if matches(control.case, each.case))
        assert control.run(experiment, "numpy", lambda request: compute(backend, request)).caught, control.name
