"""What two processes of every backend have to hold, and the tasks that show it."""

import re

import pytest

from distributed.group import run
from distributed.mistakes import MISTAKES
from transformer_mb.parity.verdict.limits import worst

TOLERANCE = {"float64": 1e-10, "float32": 1e-5}
# Rows that two processes cannot halve; a single row leaves the second process padding alone.
ODD, SINGLE = (5,), (5, 5, 5, 5, 1)
# Dropout by injected masks, clipping, and rows of very different lengths in all of them.
CASES = [
    ("adam", "tokens", 0.1, "float64", SINGLE),
    ("adam", "steps", 0.0, "float64", ODD),
    ("sgd", "tokens", 0.0, "float64", ODD),
    ("sgd", "steps", 0.1, "float64", SINGLE),
    ("adam", "tokens", 0.1, "float32", ODD),
    ("sgd", "steps", 0.1, "float32", ODD),
]
NAMES = ("optimizer", "normalization", "label_smoothing", "dtype", "rows")


def named(case):
    return "/".join(map(str, case[:-1]))


# Means over tokens show what is wrong with them; the width matters to means over steps alone.
SHOWS = {mistake: CASES[3] if mistake == "width of each process" else CASES[2] for mistake in MISTAKES}


def comparing(cases, mistakes):
    tasks = {named(case): ["compared", dict(zip(NAMES, case, strict=True))] for case in cases}
    wrong = {name: dict(zip(NAMES, SHOWS[name], strict=True), mistake=name) for name in mistakes}
    return {**tasks, **{name: ["compared", arguments] for name, arguments in wrong.items()}}


BRIEF = {
    "same bits": ["same_bits", {"place": "several-several"}],
    "not finite": ["not_finite", {}],
    "rows alike": ["rows_alike", {}],
}
TRAININGS = {
    **BRIEF,
    "several, then one: first half": ["interrupted", {"place": "several-one"}],
    "several, then one": ["resumed", {"place": "several-one", "alone": True}],
    "one, then several: first half": ["interrupted", {"place": "one-several", "alone": True}],
    "one, then several": ["resumed", {"place": "one-several"}],
    "files": ["files", {}],
    "validation": ["validated", {}],
    "forced difference": ["forced_difference", {}],
    "own dropout": ["own_dropout", {}],
}
IN_BRIEF = [CASES[0], CASES[5]]


class InBrief:
    """What is looked at every time, also where a framework takes a minute to compile it all; ``results`` are of one start."""

    backend: str
    mistakes = ("rows lost",)

    @pytest.fixture(scope="class")
    @classmethod
    def results(cls, tmp_path_factory):
        return run(cls.backend, tmp_path_factory.mktemp(cls.backend), cls.tasks())

    @classmethod
    def tasks(cls):
        return {**comparing(IN_BRIEF, cls.mistakes), **BRIEF}

    @pytest.mark.parametrize("case", IN_BRIEF, ids=named)
    def test_fifty_steps_are_those_of_one_process(self, results, case):
        agree(results, case)

    def test_lost_rows_are_seen(self, results):
        differ(results, "rows lost")

    def test_a_resumed_training_has_the_bits_of_one_that_was_not_interrupted(self, results):
        assert results["same bits"] == [True, True]

    def test_each_process_drops_others(self, results):
        """Of equal rows the shares of the loss differ by what is dropped, and by nothing else."""
        (one, whole), (other, other_whole) = results["rows alike"]
        assert abs(one / other - 1.0) > 1e-3 and abs(whole / other_whole - 1.0) <= 1e-10

    def test_a_loss_that_is_no_number_ends_both_at_the_same_step(self, results):
        (said, step), (other, other_step) = results["not finite"]
        assert said == other and step == other_step and 4 <= step <= 5 + 32, (said, step, other_step)
        assert re.match(r"NotFiniteError: The loss is no longer a number \(epoch 1, before step \d+; on rank 1 of 2\)", said)


def agree(results, case):
    found = results[named(case)][0]
    assert worst(found.values()) <= TOLERANCE[case[3]], found


def differ(results, mistake):
    found = results[mistake][0]
    assert not worst(found.values()) <= 1e-4, found


class TwoProcesses(InBrief):
    """All that two processes of a backend have to hold."""

    mistakes = MISTAKES
    dropout_of_one = False  # whether the framework's own dropout has the same bits for any number of processes

    @classmethod
    def tasks(cls):
        return {**comparing(CASES, cls.mistakes), **TRAININGS}

    @pytest.mark.parametrize("case", [case for case in CASES if case not in IN_BRIEF], ids=named)
    def test_more_steps_are_those_of_one_process(self, results, case):
        agree(results, case)

    @pytest.mark.parametrize("mistake", MISTAKES)
    def test_a_planted_mistake_is_seen(self, results, mistake):
        if mistake not in self.mistakes:
            assert mistake not in results  # what cannot be planted, since the backend has no such step
            return
        differ(results, mistake)

    @pytest.mark.parametrize("way", ["several, then one", "one, then several"])
    def test_half_by_several_and_half_by_one(self, results, way):
        stopped, (found, other) = results[f"{way}: first half"], results[way]
        # Of several, one is told of the signal: both stop at the next agreement. One alone stops at once.
        if way == "several, then one":
            assert stopped == [{"step": 9, "status": 130}] * 2
            assert other is None
        else:
            assert stopped == [{"step": 8, "status": 130}, None] and other == found
        assert worst(found.values()) <= 1e-10, found

    def test_the_checkpoint_of_several_is_that_of_one(self, results):
        several, one = results["files"][0]
        assert several == one and "optimizer.safetensors" in one["files"]

    def test_what_is_measured_is_that_of_one(self, results):
        assert worst(results["validation"]) <= 1e-10

    def test_a_weight_that_differs_is_seen_within_32_steps(self, results):
        (said, step), (other, other_step) = results["forced difference"]
        assert said == other and step == other_step and 2 <= step <= 2 + 32, (said, step, other_step)
        words = r"DistributedError: All processes must hold the same weights, but after step \d+ rank 1 of 2 holds others than"
        assert re.match(words, said)

    def test_dropout_is_that_of_the_step_and_the_process(self, results):
        first, second = results["own dropout"]
        assert first["again"] and second["again"] and (first["alone"] <= 1e-10) == self.dropout_of_one
