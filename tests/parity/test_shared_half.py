"""What all backends share is not shared with the reference: a mistake planted there fails a cell of NumPy in float64.

What no cell computes has its mistakes seen elsewhere: a schedule by ``core/test_training_loop.py``, averaged weights by
``core/test_best_models.py``, the rows of several processes by ``test_rows_that_fill_up_a_share_do_not_count`` here and by
``distributed``, the seed of what is dropped by ``reference/test_dropout.py`` and ``conformance/test_dropout.py``.
"""

import inspect
import sys
import textwrap
from functools import partial

import numpy as np
import pytest

from transformer_mb import positions
from transformer_mb.batch import Batch
from transformer_mb.config import CHOICES
from transformer_mb.decoding import beam_search, coverage_penalty, searches, session
from transformer_mb.distributed import shares
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing import making, reference
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.computing.plain import sinusoids, turns
from transformer_mb.parity.rows.layers import drawn_experiments, layer_experiments
from transformer_mb.parity.rows.tokens import token_experiments
from transformer_mb.parity.rows.trained_steps import accumulated_experiments
from transformer_mb.parity.verdict.answers import judged
from transformer_mb.trainer import Trainer

EXPERIMENTS = {
    (experiment.cells("")[0].row, experiment.case): experiment
    for experiment in (
        *token_experiments("float64", 0),
        *accumulated_experiments("float64", 0),
        *layer_experiments("float64", 0),
        *drawn_experiments("float64", 0),
    )
}
BEAM, GREEDY, STEPS = "beam tokens", "greedy tokens", ("trained steps", "sgd, accumulated, weights set")


def plant(monkeypatch, owner, name, old, new):
    """One expression of a function is another, wherever the function is used."""
    right = getattr(owner, name)
    source = textwrap.dedent(inspect.getsource(right))
    assert source.count(old) == 1, f"{name} must hold {old!r} once"
    namespace = dict(right.__globals__)
    exec("from __future__ import annotations\n" + source.replace(old, new), namespace)
    users = [owner] if inspect.isclass(owner) else [one for one in sys.modules.values() if vars(one).get(name) is right]
    for user in users:
        monkeypatch.setattr(user, name, namespace[name])


MISTAKES = {
    "a mean of means": (
        Trainer,
        "accumulated_step",
        "run_batch(mine,",
        "run_batch(mine._replace(weight=1 / len(checked)),",
        STEPS,
    ),
    "sums divided by the width of the first": (shares, "divisor", "[-1]", "[0]", STEPS),
    "a beam that ends by today's length": (
        *(beam_search, "beam_search", "scores[:, 0] / longest", "scores[:, 0] / penalties[np.maximum(length - given, 0)]"),
        (BEAM, "one row, relative positions, long ones win"),
    ),
    "a length penalty without its 5": (
        beam_search,
        "_penalties",
        "(5.0 + max(length, 1)) / 6.0",
        "max(length, 1)",
        (BEAM, "d2l"),
    ),
    "a prefix that counts as length": (
        *(beam_search, "beam_search", "penalties[np.maximum(length - given, 0)]", "penalties[np.full_like(given, length)]"),
        (BEAM, "forced prefixes"),
    ),
    "a prefix that counts as chosen": (
        *(beam_search, "greedy_search", "total[running & free] += log_probs[running & free, 0]"),
        *("total[running] += log_probs[running, 0]", (GREEDY, "forced prefixes")),
    ),
    "more than all of the attention": (
        *(coverage_penalty.Coverage, "scores", "np.clip(self.total, LEAST, 1.0)", "np.clip(self.total, LEAST, 2.0)"),
        (BEAM, "coverage penalty"),
    ),
    "coverage that does not follow": (
        *(coverage_penalty.Coverage, "reorder", "self.total[rows]", "self.total", (BEAM, "coverage penalty")),
    ),
    "a greedy search that forgets what is forced": (
        *(session.EagerSession, "generated", "forced[:, number] >= 0", "forced[:, number] > 1000", (GREEDY, "forced prefixes")),
    ),
    "one token too few": (searches, "_ended", "row[:limit]", "row[: limit - 1]", (GREEDY, "one row, wide, tied, long")),
    "positions in float32": (
        *(positions, "sinusoid_table", "np.sin(angles)", "np.sin(angles.astype(np.float32))"),
        ("layer forward", "positions from 3, halves"),
    ),
}


def status(cell):
    (result,) = [
        one for one in judged(EXPERIMENTS[cell], "numpy", partial(compute, reference.backend("float64"))) if one.row == cell[0]
    ]
    return result.status


@pytest.mark.long(but=4)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_what_backends_share_fails_a_cell(mistake, monkeypatch):
    *planted, cell = MISTAKES[mistake]
    assert status(cell) == PASSED  # the reference has answered before the mistake is made, and answers likewise after it
    making._empty.cache_clear()
    plant(monkeypatch, *planted)
    expected = reference.answer(EXPERIMENTS[cell].request)
    assert all(np.array_equal(value, expected[name]) for name, value in EXPERIMENTS[cell].expected.items())
    assert status(cell) == FAILED
    making._empty.cache_clear()


def test_rows_that_fill_up_a_share_do_not_count():
    """Three rows on two processes: the second has one row, and a repeat that holds no token of a target."""
    tokens, lens = np.arange(12).reshape(3, 4), np.array([4, 2, 3])
    batch = Batch(tokens, lens, tokens, tokens, lens)
    for normalization, whole in (("tokens", 9), ("steps", 4)):
        parts = [shares.share(batch, None, rank, 2, normalization, whole, 1) for rank in range(2)]
        assert [part.batch.target_valid_lens.tolist() for part in parts] == [[4, 2], [3, 0]]
        assert [part.weight for part in parts] == ([6 / 9, 3 / 9] if normalization == "tokens" else [1.0, 1.0])


@pytest.mark.parametrize("layout", CHOICES["sinusoid_layout"])
@pytest.mark.parametrize("width", [32, 2])
def test_positions_of_both_sides_are_the_same_numbers(layout, width):
    """The reference once took fairseq's layout for another one, and no draw of such a model could say anything."""
    np.testing.assert_allclose(sinusoids(300, width, layout), positions.sinusoid_table(300, width, layout), atol=1e-13)


@pytest.mark.parametrize("layout", CHOICES["rotary_layout"])
@pytest.mark.parametrize("base", [10000.0, 10.0])
def test_turns_of_both_sides_are_the_same_numbers(layout, base):
    np.testing.assert_allclose(turns(300, 8, base, layout), positions.rotary_table(300, 8, base, layout), atol=1e-13)
