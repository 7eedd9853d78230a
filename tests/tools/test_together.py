"""What is judged in company gets the verdict that it would get by itself."""

from collections import Counter
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from mutation.engine import CUT_GRADIENT, Verdict
from mutation.mutants import mutants_of, texts_of
from mutation.results import Results
from mutation.sources import Source
from mutation.together import Suspect, groups, judged

TEXT = """
def first(X):
    return X + 1.0


def second(X):
    return X - 2.0


def third(X):
    return X * 3.0
"""
NUMBERS = list(range(40))


class Experiments:
    """An engine whose experiments take a second each, and fail where one of the mistakes is among their ``killers``."""

    def __init__(self, killers, compiled=None):
        self.compiled = compiled  # judges what survives
        self.killers = killers  # by experiment: sets of keys that fail it, each only as a whole
        self.recorded = SimpleNamespace(seconds=[1.0] * len(NUMBERS))
        self.ran = Counter()

    def seen_by(self, mutant):
        return NUMBERS

    def order(self, mutant, numbers):
        return numbers

    def judge_by(self, mutant, numbers):
        return self.judge_together([mutant], numbers)

    def judge_by_cell(self, mutant, cell):
        numbers = [number for number in NUMBERS if cell == f"cell {number}"]
        return self.judge_by(mutant, numbers) if numbers else None

    @contextmanager
    def again(self):
        yield self.compiled

    def judge_together(self, mutants, numbers):
        keys = {mutant.key for mutant in mutants}
        for count, number in enumerate(numbers, 1):
            self.ran[number] += 1
            if any(killers <= keys for killers in self.killers.get(number, ())):
                return Verdict("killed", f"cell {number}", ran=count)
        cut = [mutant for mutant in mutants if mutant.operator == CUT_GRADIENT]
        return Verdict("no change" if cut else "survived", ran=len(numbers))


@pytest.fixture(scope="module")
def mutants():
    """One of each function."""
    found = mutants_of(Source("torch", "attention.py", TEXT))
    return [
        next(one for one in found if one.function == name and one.operator == "number") for name in ("first", "second", "third")
    ]


def test_each_is_killed_by_the_cell_that_kills_it_alone(mutants):
    first, second, _ = mutants
    engine = Experiments({3: [{first.key}], 25: [{second.key}], 26: [{first.key}]})
    fates = {mutant.key: verdict for mutant, verdict in judged(engine, mutants, {})}
    assert [(fates[one.key].status, fates[one.key].cell) for one in mutants] == [
        ("killed", "cell 3"),
        ("killed", "cell 25"),
        ("survived", ""),
    ]
    assert engine.ran[39] == 1  # for both survivors of the first cells at once


def test_what_fails_only_together_is_judged_alone(mutants):
    first, second, third = mutants
    engine = Experiments({30: [{first.key, second.key}], 35: [{third.key}]})
    fates = {mutant.key: verdict.status for mutant, verdict in judged(engine, mutants, {})}
    assert fates == {first.key: "survived", second.key: "survived", third.key: "killed"}


def test_a_group_has_one_mistake_of_a_function_and_one_cut_gradient():
    found = mutants_of(Source("torch", "attention.py", TEXT))
    grouped = groups([Suspect(mutant, Verdict("survived"), NUMBERS) for mutant in found])
    assert sum(map(len, grouped)) == len(found) and len(grouped[0]) == 3
    for group in grouped:
        assert len({suspect.mutant.function for suspect in group}) == len(group)
        assert sum(suspect.mutant.operator == CUT_GRADIENT for suspect in group) <= 1


def test_the_text_of_several_mistakes_has_them_all():
    found = mutants_of(source := Source("torch", "loss.py"))
    chosen = list({mutant.function: mutant for mutant in found}.values())
    assert len(chosen) > 1
    text = texts_of(chosen)["loss.py"]
    assert text != source.text and all(mutant.edit.text in text for mutant in chosen)
    assert texts_of(chosen[:1]) == {"loss.py": chosen[0].text}
    compile(text, "loss.py", "exec", dont_inherit=True)


def test_what_killed_by_other_code_is_tried_first(mutants):
    """It may kill no more, or be gone: then the mistake is judged as any other."""
    first, second, third = (mutant.key for mutant in mutants)
    engine = Experiments({30: [{first}], 5: [{second}], 6: [{third}]})
    killers = {first: "cell 30", second: "cell 20", third: "a cell that is gone"}
    fates = {mutant.key: verdict for mutant, verdict in judged(engine, mutants, killers)}
    assert {key: (verdict.status, verdict.cell) for key, verdict in fates.items()} == {
        first: ("killed", "cell 30"), second: ("killed", "cell 5"), third: ("killed", "cell 6"),
    }  # fmt: skip
    assert fates[first].ran == 1 and engine.ran[20] == 1


def test_a_record_of_other_code_says_what_killed(tmp_path, mutants):
    file, (first, second, _) = tmp_path / "mutants.json", mutants
    for digest, number in (("a", 1), ("b", 2)):
        results = Results(file, {"digest": digest})
        results.begin("torch", {"mistakes": 2})
        results.add("torch", (first, second)[number - 1], Verdict("killed", f"cell {number}"))
    assert results.killers == {first.key: "cell 1"} == Results(file, {"digest": "b"}).killers
    assert Results(file, {"digest": "c"}).killers == {first.key: "cell 1", second.key: "cell 2"}
