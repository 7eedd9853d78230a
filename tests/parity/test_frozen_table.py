"""The case of a frozen table: one that learns all the same fails, and the flag is put back."""

import pytest

from transformer_mb.backends.numpy import BACKEND as NumPyBackend
from transformer_mb.backends.torch.backend import TorchBackend
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing import making
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.rows.trained_steps import FROZEN_TABLE, training_experiments


@pytest.fixture
def experiment():
    return next(one for one in training_experiments("float64", 0) if one.case == FROZEN_TABLE.name)


def status(experiment, backend):
    (result,) = experiment.run(backend.name, lambda request: compute(backend, request))
    return result.status


def test_a_table_that_learns_though_it_is_frozen_fails(experiment, monkeypatch):
    backend = TorchBackend(dtype="float64")
    assert status(experiment, backend) == PASSED
    monkeypatch.setitem(making.FROZEN, "torch", ("requires_grad", True))
    assert status(experiment, backend) == FAILED


def test_the_model_that_is_kept_for_others_is_not_frozen_afterwards(experiment):
    backend = TorchBackend(dtype="float64")
    compute(backend, experiment.request)
    native = making.model_of(backend, experiment.request.spec["config"], experiment.request.arrays)
    assert all(parameter.requires_grad for parameter in native.parameters())


def test_a_table_that_is_put_back_is_what_it_was(experiment):
    """So the reference does, whose framework has no flag."""
    answer, table = compute(NumPyBackend(dtype="float64"), experiment.request), "weights.encoder.embedding.weight"
    assert (answer[table] == experiment.request.arrays[table]).all()
    assert (answer["weights.decoder.dense.bias"] != experiment.request.arrays["weights.decoder.dense.bias"]).any()
    assert not any(name.endswith("encoder.embedding.weight") for name in answer if name.startswith("slots."))


def test_frameworks_without_a_flag_have_no_such_cell(experiment):
    assert [name for name in ("numpy", "jax", "torch", "torch@old", "theirs") if experiment.cells(name)] == [
        "torch",
        "torch@old",
    ]
