"""Float32 inside a float64 run is found module by module: it loosens the limits of no other module."""

import re
from pathlib import Path

import pytest

from check.pairs.planting import MISTAKES, Mistake
from transformer_mb import check

FILE = f"{Path(__file__).parent}/layers/deaf_in_torch.py"
REFERENCE = check.torch(f"{FILE}:Model")
CASE = {"inputs": {"ids": check.ids("B", "T", below=11)}, "sizes": {"B": 3, "T": 4}}


def report(name="Model", **options):
    return check.check(REFERENCE, check.torch(f"{FILE}:{name}", **options), **CASE, draws=2)


def weaker(found):
    return [note for note in found.notes if note.startswith("weaker")]


@pytest.mark.parametrize(
    ("single", "where"),
    [
        (("embed",), "embed of the candidate"),
        (("one",), "one of the candidate"),
        (("embed", "one"), "embed of the candidate, one of the candidate"),
        (("glue",), "the whole of the candidate (what it gives to two, the gradient of what it has from one)"),
    ],
)
def test_a_module_that_computes_in_float32_passes_and_is_named_exactly(single, where):
    found = report(single=single)
    assert found.passed, found
    assert weaker(found) == [f"weaker: float64 runs compute in float32 in {where}, and are held to its limits there"]


def test_the_side_that_computes_in_float32_is_named():
    sides = (check.torch(f"{FILE}:Model", single=(part,)) for part in ("embed", "one"))
    found = check.check(*sides, **CASE, draws=2)
    where = "embed of the reference, one of the candidate"
    assert found.passed, found
    assert weaker(found) == [f"weaker: float64 runs compute in float32 in {where}, and are held to its limits there"]


@pytest.mark.parametrize("single", ["embed", "one", "glue"])
def test_a_wrong_epsilon_beside_it_fails_and_names_the_norm(single):
    """The epsilon of 1e-6 for 1e-5 moves the outputs by what float32 alone would allow."""
    found = report(single=(single,), epsilon=1.001e-5)
    assert not found.passed and found.tree.first == "norm", found
    assert {one.dtype for one in found.figures if not one.passed} == {"float64"}
    assert found.tree.single and not any(one.startswith("norm") for one in found.tree.single) and not weaker(found)


def test_a_side_wholly_in_float32_is_held_to_its_limits_and_said_to_be_so():
    found = report("Everywhere")
    (note,) = weaker(found)
    assert found.passed and "the whole of the candidate (what it returns, " in note and note.count("the gradient of") == 2, (
        found
    )
    assert re.search(r" and [3-9] more\)", note), note
    assert not report("Everywhere", epsilon=1e-3).passed


TABLE = Mistake("gpt2", "flax' own table", "", "self.wte = Table(vocabulary", "self.wte = nnx.Embed(vocabulary")
EPSILON = next(one for one in MISTAKES if one.pair == "gpt2" and "epsilon" in one.what)


@pytest.mark.long
@pytest.mark.parametrize("wrong", [False, True], ids=["right", "a wrong epsilon"])
def test_flax_own_table_is_named_and_excuses_no_epsilon(wrong, tmp_path):
    """``nnx.Embed`` computes in the dtype that it was made in, float32, whatever its weights are cast to."""
    pair = TABLE.planted(tmp_path)
    copy = tmp_path / "gpt2_nnx.py"
    if wrong:
        copy.write_text(copy.read_text().replace(EPSILON.old, EPSILON.new))
    how = {"weights": pair.weights, "inputs": pair.inputs, "sizes": pair.sizes}
    found = check.check(pair.reference, pair.candidate, **how, draws=1, sensitivity=False)
    assert found.passed is not wrong, found
    if wrong:
        assert found.tree.first == EPSILON.module and found.tree.single == ["wte of the candidate"], found
    else:
        assert weaker(found) == [
            "weaker: float64 runs compute in float32 in wte of the candidate, and are held to its limits there"
        ]
