"""Mistakes that are made from some size on alone: planted, each fails a cell of the model of real size."""

from functools import partial

import numpy as np
import pytest

from transformer_mb.backends.numpy import BACKEND, decoding
from transformer_mb.backends.numpy.optimizers import clip_gradients
from transformer_mb.built_in import PLAIN_DTYPES
from transformer_mb.config import TransformerConfig
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.rows.real_size import DECODED_STEPS, WORDS, real_size_experiments

ROWS = ("model forward", "model loss", "model gradients", "trained steps", "greedy tokens", "beam tokens")


class RightForToys(BACKEND):
    """Another backend for every model wider than 32 with more than 20 words."""

    def create_empty(self, config: TransformerConfig):
        real = config.num_hiddens > 32 and (config.target_vocab_size or 0) > 20
        return super().create_empty(config.replace(norm_eps=2.0 * config.norm_eps) if real else config)


class ClipsEachArray(BACKEND.trainer_class):
    """By its own norm, as Keras' ``clipnorm`` does, and here where it has more than so many numbers alone."""

    LARGE = 2**14

    def _apply(self):
        gradients = [parameter.holder.gradient for parameter in self.parameters.values()]
        clip_gradients([gradient for gradient in gradients if gradient.size <= self.LARGE], self.options.clip_norm)
        for gradient in gradients:
            if gradient.size > self.LARGE:
                clip_gradients([gradient], self.options.clip_norm)
        self.step_count += 1
        self.optimizer.step(self.learning_rate, self.step_count)


class Clipping(BACKEND):
    trainer_class = ClipsEachArray


class WholeGroupsAlone(BACKEND):
    """The words after the last whole group of columns are never candidates."""

    def start_beam(self, *arguments, **options):
        session = super().start_beam(*arguments, **options)
        step = session.step

        def without_the_rest(*given):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(decoding, "_top", partial(cut, decoding._top))
                return step(*given)

        session.step = without_the_rest
        return session


def cut(best, rows, k):
    whole = rows.shape[-1] // decoding.GROUP * decoding.GROUP
    return best(rows[:, :whole] if whole > k else rows, k)


def statuses(dtype, seed=0, backend_class=BACKEND, rows=ROWS):
    backend = backend_class(dtype=dtype)
    chosen = [one for one in real_size_experiments(dtype, seed) if one.cells("")[0].row in rows]
    results = [result for one in chosen for result in one.run("numpy", partial(compute, backend))]
    return {result.row: result.status for result in results if result.row in rows}


LONG = [pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2)]


def asked(row, seed):
    """The dtype that the seed has of a row: of searches and steps one."""
    return PLAIN_DTYPES[(seed + (row == "trained steps")) % 2]


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("dtype", PLAIN_DTYPES)
def test_numpy_is_right_in_real_size(dtype, seed):
    rows = [row for row in ROWS if row.startswith("model") or dtype == asked(row, seed)]
    assert statuses(dtype, seed) == dict.fromkeys(rows, PASSED)


@pytest.mark.long
def test_what_is_right_for_toys_alone_fails_every_row():
    """In float64, which one seed has of searches and the next of steps."""
    found = statuses("float64", 0, RightForToys) | statuses("float64", 1, RightForToys)
    assert found == dict.fromkeys(ROWS, FAILED)


MISTAKEN = {"greedy tokens": RightForToys, "beam tokens": WholeGroupsAlone, "trained steps": Clipping}


@pytest.mark.parametrize("seed", [0, *LONG])
@pytest.mark.parametrize("row", MISTAKEN)
def test_a_mistake_behind_some_size_fails(row, seed):
    assert statuses(asked(row, seed), seed, MISTAKEN[row], (row,)) == {row: FAILED}


@pytest.mark.parametrize("seed", [0, *LONG])
def test_the_last_word_is_decoded_and_others_too(seed):
    for search in real_size_experiments(asked("greedy tokens", seed), seed)[-2:]:
        tokens = search.request.arrays["target"]
        assert tokens.shape[1] == DECODED_STEPS and (tokens == WORDS - 1).any() and len(np.unique(tokens)) >= 6
