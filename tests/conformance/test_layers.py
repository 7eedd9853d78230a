"""Every layer against the float64 oracle: outputs and all gradients; and float32 near float64."""

import numpy as np
import pytest

from transformer_mb.parity.rows.layer_cases import CASES, prepare
from transformer_mb.parity.verdict.measure import error, gradient_errors

# Cases by name, so that test ids read as sentences; for ill-conditioned inputs the parity matrix finds the limits.
WELL_CONDITIONED = [case for case in CASES if not case.ill_conditioned]
each_case = pytest.mark.parametrize("case", WELL_CONDITIONED, ids=lambda case: case.name)


def first(output):
    return output[0] if isinstance(output, tuple) else output


@each_case
def test_forward(case, backend, oracle):
    layer, inputs, call = prepare(case, backend, np.random.default_rng(1))
    got = first(backend.apply(layer, *inputs, training=case.training, **call))
    layer, inputs, call = prepare(case, oracle, np.random.default_rng(1))
    expected = first(oracle.apply(layer, *inputs, training=case.training, **call))
    assert got.dtype == np.float64
    assert error(got, expected) <= 1e-12


@each_case
def test_gradients(case, backend, oracle):
    cotangent_rng = np.random.default_rng(2)
    layer, inputs, call = prepare(case, oracle, np.random.default_rng(1))
    cotangent = cotangent_rng.standard_normal(first(oracle.apply(layer, *inputs, training=case.training, **call)).shape)
    output, by_input, by_name = oracle.gradients(layer, inputs, cotangent, training=case.training, **call)
    expected = {**by_name, **{str(i): g for i, g in enumerate(by_input) if g is not None}}
    layer, inputs, call = prepare(case, backend, np.random.default_rng(1))
    got_output, got_inputs, got_names = backend.gradients(layer, inputs, cotangent, training=case.training, **call)
    got = {**got_names, **{str(i): g for i, g in enumerate(got_inputs) if g is not None}}
    assert error(got_output, output) <= 1e-12
    assert gradient_errors(got, expected) <= 1e-10


@each_case
def test_float32(case, backend32, oracle):
    layer, inputs, call = prepare(case, backend32, np.random.default_rng(1))
    got = first(backend32.apply(layer, *inputs, training=case.training, **call))
    layer, inputs, call = prepare(case, oracle, np.random.default_rng(1))
    expected = first(oracle.apply(layer, *inputs, training=case.training, **call))
    assert got.dtype == np.float32
    assert 0.0 < error(got, expected) <= 1e-5  # exact equality would mean that it did not compute in float32
