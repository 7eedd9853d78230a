"""The matrix's cells of layers, models and optimizers, computed in this process and held to the matrix's own verdict.

For NumPy, which is the reference, they prove nothing about its gradients: those are held to central differences in
``tests/reference/test_gradients.py``, and its optimizers to the papers' formulas in ``tests/reference/test_optimizers.py``.
"""

from functools import partial

import numpy as np
import pytest

from transformer_mb.batch import Batch
from transformer_mb.built_in import PLAIN_DTYPES
from transformer_mb.parity.cells import EXPECTED, PASSED
from transformer_mb.parity.column import by_the_table
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.rows import layer_cases, model_cases
from transformer_mb.parity.rows.layers import layer_experiments
from transformer_mb.parity.rows.models import model_experiments
from transformer_mb.parity.rows.trained_steps import optimizer_experiments
from transformer_mb.parity.verdict.answers import judged
from transformer_mb.registry import get_backend

# In float32 one of each kind, for a compiler works on each for seconds; the matrix has them all.
LEFT_TO_THE_MATRIX = {
    *(case.name for case in layer_cases.CASES if not case.every_dtype),
    *(case.name for case in model_cases.MODELS if not case.every_dtype),
}
# In any dtype: their switches are those of other models, their sizes those of layers.
REPEATED = {"preset stepwise_prenorm", "preset vaswani_base", "preset fused_embedding", "d2l, one token", "d2l, 512 steps"}


def experiments(dtype):
    every = [
        *layer_experiments(dtype, seed=0),
        *model_experiments(dtype, seed=0),
        *optimizer_experiments(dtype, seed=0),
    ]
    left_out = REPEATED if dtype == "float64" else REPEATED | LEFT_TO_THE_MATRIX
    # What the seed draws is the matrix's too: tests/parity/test_seeds.py has it in two backends.
    return [each for each in every if each.case not in left_out and not each.case.startswith("drawn")]


EXPERIMENTS = [experiment for dtype in PLAIN_DTYPES for experiment in experiments(dtype)]


def computed(backends, request):
    """Here, what the matrix asks of a worker."""
    return compute(backends[request.dtype], request)


@pytest.fixture(scope="session")
def ask(backend, backend32):
    return partial(computed, {"float64": backend, "float32": backend32})


@pytest.mark.long(but=24)
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: f"{one.rows[0].split()[0]}: {one.case} [{one.dtype}]")
def test_cells(experiment, backend_name, ask, divergences):
    results = [by_the_table(result, divergences) for result in judged(experiment, backend_name, ask)]
    wrong = [result for result in results if result.status not in (PASSED, EXPECTED)]
    assert results and [f"{result.cell.id}: {result.reason}" for result in wrong] == []


def test_float32_is_computed_in_float32(ask, backend_name):
    """Its error is not only that of an exact result rounded at the end."""
    experiment = next(each for each in EXPERIMENTS if each.dtype == "float32" and each.rows[0] == "model forward")
    answer = ask(experiment.request)
    assert [result.status for result in judged(experiment, backend_name, lambda request: answer)] == [PASSED] * 3
    assert (answer["logits"] != experiment.expected["logits"].astype(np.float32)).any()


@pytest.mark.two_bytes
@pytest.mark.long
def test_every_dtype(backend, backend_name):
    """The verdict on a model's output and loss, and gradients without NaN, in formats of two bytes too where the backend has them."""
    assert {*PLAIN_DTYPES} <= set(backend.dtypes)
    for dtype in set(backend.dtypes) - {*PLAIN_DTYPES}:
        other = get_backend(backend_name, dtype=dtype)
        experiment = model_experiments(dtype, seed=0)[0]
        results = judged(experiment, backend_name, partial(computed, {dtype: other}))
        assert [result.status for result in results] == [PASSED] * 2, [result.reason for result in results]
        _, gradients = other.loss_and_gradients(other.build(model_cases.CONFIGS["d2l"], seed=0), Batch(**model_cases.BATCH))
        assert all(np.isfinite(value).all() for value in gradients.values()), dtype
