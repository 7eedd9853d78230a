"""Thresholds of a backend are drawn tiny, so that a mistake behind one fails in toys."""

from functools import partial
from itertools import count

import pytest

from transformer_mb.backends.numpy import BACKEND, optimizers
from transformer_mb.backends.numpy.shortcuts import prepared_layers
from transformer_mb.backends.torch.backend import TorchBackend
from transformer_mb.backends.torch.shortcuts import decoding_steps
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.computing.thresholds import TINY, tiny
from transformer_mb.parity.plan import is_tiny, with_drawn_thresholds
from transformer_mb.parity.rows.caches import cached_experiments
from transformer_mb.parity.rows.models import model_experiments
from transformer_mb.parity.rows.tokens import token_experiments
from transformer_mb.parity.rows.trained_steps import optimizer_experiments, training_experiments


def test_thresholds_are_tiny_inside_and_what_they_were_afterwards():
    before = optimizers.CHUNK, prepared_layers.TURNED
    with pytest.raises(RuntimeError), tiny("numpy"):
        assert (7, range(1, 64)) == (optimizers.CHUNK, prepared_layers.TURNED)
        raise RuntimeError
    assert before == (optimizers.CHUNK, prepared_layers.TURNED)
    with tiny("a backend of another package"):
        assert before[0] == optimizers.CHUNK


def test_what_was_made_with_other_thresholds_is_forgotten():
    kept = prepared_layers._averages
    kept(3, 0.1, "float64")
    with tiny("numpy"):
        assert kept.cache_info().currsize == 0
        kept(3, 0.1, "float64")
    assert kept.cache_info().currsize == 0


def test_some_cells_of_each_kind_are_drawn_and_none_is_there_twice():
    rows = set()
    for seed in range(12):
        makers = (model_experiments, cached_experiments, optimizer_experiments, training_experiments, token_experiments)
        experiments = [one for make in makers for one in make("float64", seed)]
        tiny_too = with_drawn_thresholds(experiments, seed)
        cells, others = ([cell for one in some for cell in one.cells("")] for some in (experiments, tiny_too))
        assert [cell._replace(case=cell.case.removesuffix(f", {TINY}")) for cell in others] == cells
        rows |= {cell.row for cell in others if cell.case.endswith(TINY)}
    assert rows == {cell.row for cell in cells}


class LastPieceForgotten(BACKEND):
    """Of a vector that is updated in pieces the last one stays as it was."""

    def trainer(self, model, *arguments, **options):
        trainer = super().trainer(model, *arguments, **options)
        step = trainer.optimizer.step

        def forgetful(*given):
            whole = trainer.optimizer.whole
            last = (whole.value.size - 1) // optimizers.CHUNK * optimizers.CHUNK
            kept = whole.value[last:].copy()
            step(*given)
            if last:
                whole.value[last:] = kept

        trainer.optimizer.step = forgetful
        return trainer


def drawn_twice(make, kind, without=()):
    """Return a case without tiny thresholds and with them: that of the first seed whose case of a kind has them.

    ``without``: words that the case's name does not have.
    """
    for seed in count():
        cases = [one for one in make("float64", seed) if one.cells("")[0].case.startswith(kind)]
        for one, drawn in zip(cases, with_drawn_thresholds(cases, seed), strict=True):
            if is_tiny(drawn) and not any(word in one.cells("")[0].case for word in without):
                return one, drawn


def status(experiment, backend):
    (result,) = experiment.run(backend.name, partial(compute, backend))
    return result.status


def test_a_mistake_behind_a_threshold_of_numpy_fails_the_cell_that_is_tiny_alone():
    as_it_is, drawn = drawn_twice(optimizer_experiments, "drawn optimizer")
    right, wrong = BACKEND(dtype="float64"), LastPieceForgotten(dtype="float64")
    assert [status(one, right) for one in (as_it_is, drawn)] == [PASSED, PASSED]
    assert [status(one, wrong) for one in (as_it_is, drawn)] == [PASSED, FAILED]


def test_a_mistake_behind_a_threshold_of_torch_fails_the_cell_that_is_tiny_alone(monkeypatch):
    """Where the weights of a decoding step's attention are too many to be joined, its keys and values are its queries."""
    # Relative positions go the layers' way; queries are no keys where there are fewer of these.
    as_it_is, drawn = drawn_twice(token_experiments, "drawn search", without=("relative", "kv heads"))
    torch, made = TorchBackend(dtype="float64"), decoding_steps.BlockSteps.__init__
    assert [status(one, torch) for one in (as_it_is, drawn)] == [PASSED, PASSED]

    def wrongly_made(self, *arguments):
        made(self, *arguments)
        self.parts = self.parts[:1] * 3

    monkeypatch.setattr(decoding_steps.BlockSteps, "__init__", wrongly_made)
    assert [status(one, torch) for one in (as_it_is, drawn)] == [PASSED, FAILED]
