"""What a backend answers is refused before an error is computed, whatever of it is wrong."""

import dataclasses

import numpy as np
import pytest

from transformer_mb.built_in import PLAIN_DTYPES
from transformer_mb.columns.column import Column
from transformer_mb.parity.computing import reference
from transformer_mb.parity.controls.answers import WRONG as WRONG_NUMBERS
from transformer_mb.parity.controls.answers import Replay, kinds, spoil
from transformer_mb.parity.ladder import LADDER
from transformer_mb.parity.matrix import run_matrix
from transformer_mb.parity.plan import Selection
from transformer_mb.parity.rows import hand_over
from transformer_mb.parity.rows.hand_over import HandOverRun, HandOverStart
from transformer_mb.parity.rows.training import HANDED_OVER_AT, Recording, make_job
from transformer_mb.parity.verdict.answers import Unusable, check_answer, judged
from transformer_mb.parity.verdict.limits import Baseline, Errors, gradient_errors, judge, worst, worst_errors

GRADIENTS = "layer gradients: encoder block, lens *|model gradients: d2l *|stepwise gradients: step 0 *"


def test_nan_in_a_later_gradient_fails(faulty_backends):
    outcome, _ = run_matrix([Column("later"), Column("numpy")], Selection(cases=GRADIENTS, dtypes=PLAIN_DTYPES))
    by_backend = {name: [one for one in outcome.results if one.backend == name] for name in ("later", "numpy")}
    assert len(by_backend["later"]) == len(by_backend["numpy"]) == 10
    assert all(one.status == "passed" for one in by_backend["numpy"])
    assert all(one.status == "failed" and "not finite" in one.reason for one in by_backend["later"])


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_folding_keeps_what_is_not_finite(place, wrong):
    errors = [1e-16, 1e-16, 1e-16]
    errors[place] = wrong
    assert not np.isfinite(worst(errors))
    exact = {name: np.ones(3) for name in "abc"}
    got = {**exact, "abc"[place]: np.full(3, wrong)}
    assert not np.isfinite(worst_errors(gradient_errors(got, exact).values())).any()
    assert not np.isfinite(worst_errors(Errors(value, value) for value in errors)).any()
    with pytest.raises(ValueError):
        worst([])


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Baseline)])
def test_a_baseline_that_is_not_finite_excuses_nothing(field):
    small = Errors(1e-16, 1e-16)
    for dtype in (*PLAIN_DTYPES, "bfloat16"):
        for wrong in (np.nan, np.inf):
            for pair in (Errors(wrong, 0.0), Errors(0.0, wrong)):
                baseline = Baseline(**{field: {"one": small, "other": pair} if field == "arrays" else pair})
                assert not judge("layer forward", dtype, small, baseline, {"one": small, "other": small}).passed


EXPECTED = {"output": np.ones((2, 3)), "loss": np.array(1.0), "tokens": np.ones((2, 2), np.int64)}
WRONG = {
    "missing": ({"output": None}, r"output \[2, 3\] was expected, but it did not come"),
    "unexpected": ({"other": np.ones(2, np.float32)}, r"other \[2\] was not asked for"),
    "shape": ({"output": np.ones((1, 3), np.float32)}, r"output must have shape \[2, 3\], got \[1, 3\]"),
    "precision": ({"output": np.ones((2, 3))}, "output must be float32, got float64"),
    "kind": ({"tokens": np.ones((2, 2), np.float32)}, "tokens must be int64, got float32"),
    "NaN": ({"output": np.array([[1, 1, 1], [1, np.nan, 1]], np.float32)}, r"1 of 6 numbers .* not finite, .* at \[1, 1\]"),
    "infinity": ({"loss": np.array(-np.inf)}, "loss holds 1 of 1 numbers that are not finite"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_an_answer_with_a_wrong_part_is_refused_as_a_whole(kind):
    good = {**EXPECTED, "output": np.ones((2, 3), np.float32)}
    check_answer(good, EXPECTED, "float32")
    change, words = WRONG[kind]
    got = {name: value for name, value in {**good, **change}.items() if value is not None}
    with pytest.raises(Unusable, match=words):
        check_answer(got, EXPECTED, "float32")


@pytest.fixture
def handed_over_early(monkeypatch):
    """What is refused is refused at once: how long is trained before and after does not matter."""
    monkeypatch.setattr(hand_over, "HANDED_OVER_AT", 10)
    monkeypatch.setattr(hand_over, "CONTINUED", 4)


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.long)])
def test_wrong_numbers_in_the_answers_of_a_hand_over_are_caught(dtype, handed_over_early):
    """From NumPy to itself, in this process; ``test_controls`` plants them into the answers of all other rows."""
    ask = reference.answer if dtype == "float64" else reference.baseline
    recording = Recording(make_job(None, 0))
    start = HandOverStart(recording, dtype)
    run = HandOverRun(start, ["numpy", "other"])
    judged(start, "numpy", ask)
    start.losses["other"], start.states["other"] = start.losses["numpy"], start.states["numpy"]
    replay = Replay(ask)
    assert [result.status for result in judged(run, "numpy", replay)] == ["passed", "passed"]
    controls = list(spoil(run, "numpy", replay))
    assert [control for control in controls if not control.caught] == []
    assert {control.row for control in controls} == {row.name for row in LADDER.values() if row.made_of}
    numbers, arrays = zip(*(control.control.split(" (")[0].split(" in ") for control in controls), strict=True)
    assert set(numbers) == set(WRONG_NUMBERS)
    assert {"loss", "gradient", "weights", "slots.m", "slots.v", "losses"} == set(arrays)


def test_who_stayed_may_fork_once_but_not_twice(monkeypatch):
    """Handed over without a mistake; what is said of the one that stayed leaves the band after one state, then after both."""
    monkeypatch.setattr(hand_over, "CONTINUED", 2)
    start = HandOverStart(Recording(make_job(None, 0)), "float32")
    start.run("stays", reference.baseline)
    run = HandOverRun(start, ["stays", "continues"])
    for stop, passes in ((HANDED_OVER_AT, True), (hand_over.EARLIER, False)):
        start.losses["stays"][stop] = start.losses["stays"][stop] * np.array([1.0, 1.0 + 1e-4])
        (result,) = [one for one in run.run("continues", reference.baseline) if one.row == hand_over.CONTINUES]
        assert (result.status == "passed") == passes and "from step 20 1.0e-04 at step 1" in result.reason


def test_a_training_that_is_not_finite_leaves_nothing_to_continue_from(handed_over_early):
    recording = Recording(make_job(None, 0))
    start = HandOverStart(recording, "float64")

    def ask(request):
        answer = reference.answer(request)
        name = [name for name in answer if name.startswith("state")][-1]
        return {**answer, name: answer[name] * np.nan}

    start.run("a", ask)
    results = HandOverRun(start, ["a", "b"]).run("b", reference.answer)
    assert len(results) == 2 and all(one.status == "failed" and "not finite" in one.reason for one in results)


def test_kinds_of_arrays():
    names = ["output", "gradient.input 0", "gradient.a.weight", "state 1.weights.a", "state 1.slots.m.a", "state 1.slots.v.a"]
    by_kind = kinds([{**{name: np.ones(1) for name in names}, "tokens": np.ones(1, int)}])
    assert list(by_kind) == ["output", "gradient", "state 1.weights", "state 1.slots.m", "state 1.slots.v"]
    assert by_kind["gradient"] == names[1:3]
