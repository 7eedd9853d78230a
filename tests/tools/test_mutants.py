"""The engine of `make mutants`: what it published still happens, and each mistake planted by hand is caught by a cell."""

import json
import random
import re
import time

import mutation.engine
import pytest
from mutation.engine import Engine
from mutation.judged import EQUIVALENT, SURVIVORS
from mutation.left_out import FILES_LEFT_OUT, LEFT_OUT
from mutation.mutants import all_mutants, mutants_of, sample
from mutation.planted import NO_MISTAKE, PLANTED, SEEDS, planted_mutant
from mutation.report import page, score_table
from mutation.results import KILLED, SURVIVED, records
from mutation.sources import PARTS, ROOT, Source, folder

from transformer_mb.built_in import EVERY_DTYPE

RESULTS = ROOT / "benchmarks" / "results" / "mutants.json"
RUN = json.loads(RESULTS.read_text())
EVERYTHING = {"dtypes": EVERY_DTYPE, "cases": None}
DRAWN = {"torch": 14, "numpy": 6}
# What a search decodes takes a model that is drawn for seconds.
CHEAP = ("layer", "model", "optimizer")

SHORT = '''
def forward(X, mask, rate: float = 0.5):
    """Doc - string."""
    check_features("X", X, 1 + 1)
    if mask is not None and rate > 0.0:
        X = X.masked_fill(~mask, value=-1.0)
    if X is None:
        raise ValueError("1 + 1 must be 2, got " + str(1 + 1))
    return torch.add(X * rate, mask)
'''


@pytest.fixture(scope="module")
def made():
    """By part: the mistakes that today's files can have."""
    return {part: all_mutants(part) for part in PARTS}


@pytest.fixture(scope="module")
def short():
    return mutants_of(Source("torch", "attention.py", SHORT))


def test_the_mistakes_of_a_short_function(short):
    changes = {(mutant.operator, mutant.key.partition(": ")[2]) for mutant in short}
    returned = "return torch.add(X * rate, mask)"
    condition, filled = "if mask is not None and rate > 0.0:", "X = X.masked_fill(~mask, value=-1.0)"
    assert {
        ("number", "def forward(X, mask, rate: float = 0.5): -> def forward(X, mask, rate: float = 1.0):"),
        ("comparison", f"{condition} -> if mask is None and rate > 0.0:"),
        ("comparison", f"{condition} -> if mask is not None and rate >= 0.0:"),
        ("logic", f"{condition} -> if mask is not None or rate > 0.0:"),
        ("dropped term", f"{condition} -> if ((rate > 0.0)):"),
        ("logic", f"{filled} -> X = X.masked_fill(mask, value=-1.0)"),
        ("logic", f"{filled} -> X = X.masked_fill(~mask, value=1.0)"),
        ("dropped keyword", f"{filled} -> X = X.masked_fill(~mask)"),
        ("dropped call", f"{filled} -> X = X"),
        ("cut gradient", f"{filled} -> X = detached(X.masked_fill(~mask, value=-1.0))"),
        ("arithmetic", f"{returned} -> return torch.add(X / rate, mask)"),
        ("swapped arguments", f"{returned} -> return torch.add(mask, X * rate)"),
        ("dropped term", f"{returned} -> return torch.add((rate), mask)"),
        ("cut gradient", f"{returned} -> return torch.add(detached(X) * rate, mask)"),
    } <= changes


def test_checks_messages_and_documentation_stay(short):
    for mutant in short:
        for line in ('"""Doc - string."""', 'check_features("X", X, 1 + 1)', '"1 + 1 must be 2, got " + str(1 + 1)'):
            assert line in mutant.text


@pytest.mark.parametrize("backend", PARTS)
def test_every_mistake_compiles_and_has_a_name_of_its_own(backend, made):
    mutants = made[backend]
    assert len(mutants) > 500 and len({mutant.key for mutant in mutants}) == len(mutants)
    for mutant in sample(mutants, 100, 0):
        compile(mutant.text, mutant.file, "exec", dont_inherit=True)


def test_a_sample_has_every_file_and_operator(made):
    mutants = made["torch"]
    drawn = sample(mutants, 360, 0)
    assert len(drawn) == 360 and {one.file for one in drawn} == {one.file for one in mutants}
    assert len({one.operator for one in drawn}) >= len({one.operator for one in mutants}) - 1
    assert drawn == sample(mutants, 360, 0) != sample(mutants, 360, 1)


@pytest.mark.parametrize("table", [EQUIVALENT, SURVIVORS], ids=["equivalent.toml", "survivors.toml"])
def test_each_row_names_a_line_of_today_or_of_the_published_run(table, made):
    known = {mutant.key for mutants in made.values() for mutant in mutants}
    known |= {record.key for backend in RUN["backends"] for record in records(RUN, backend)}
    assert not [key for key in table if key not in known], "the line is gone: so goes its row"


def test_beside_what_is_false_in_every_cell_nothing_is_changed():
    conditions = (
        "keep is None and (X.is_cuda or is_compiling())",
        "keep is None or X.is_cuda",
        "keep is None and not X.is_cuda",
    )
    for condition, changed in zip(conditions, (False, True, True), strict=True):
        found = mutants_of(
            Source("torch", "attention.py", f"def forward(X, keep):\n    if {condition}:\n        X = X.half()\n")
        )
        assert any(mutant.operator in ("comparison", "dropped term") for mutant in found) is changed


def test_what_is_left_out_is_there():
    """By file, function, attribute or name; and the test that is said to hold it."""
    code = {path: path.read_text() for part in PARTS for path in folder(part).rglob("*.py")}
    paths = [f"{part}/{path.relative_to(folder(part))}" for part in PARTS for path in code if path.is_relative_to(folder(part))]
    assert all(any(path.endswith(f"/{name}") or path == name for path in paths) for name in FILES_LEFT_OUT)
    words = set(re.findall(r"\w+", "\n".join(code.values())))
    assert {name for table in LEFT_OUT[1:] for name in table} <= words
    tests = {place for table in LEFT_OUT for reason in table.values() for place in re.findall(r"tests/[\w/*]+\.py", reason)}
    assert not [place for place in tests if not [*ROOT.glob(place)]]


def test_what_survived_is_judged(made):
    """Each survivor is said to be a hole, or to be no mistake, of those that still can be made."""
    for backend in RUN["backends"]:
        now = {mutant.key for mutant in made[backend]}
        left = [record.key for record in records(RUN, backend) if record.fate == SURVIVED and record.key in now]
        assert not set(left) - SURVIVORS.keys(), "give each a line in tools/mutation/survivors.toml or equivalent.toml"
    assert not SURVIVORS.keys() & EQUIVALENT.keys()


def test_what_is_equivalent_is_killed_by_no_cell():
    assert not [
        one.key
        for backend in RUN["backends"]
        for one in records(RUN, backend)
        if one.key in EQUIVALENT and one.status == KILLED
    ]


def test_the_page_is_that_of_the_results():
    assert (ROOT / "docs" / "MUTANTS.md").read_text() == page(RUN), "run `make mutants-results`"
    assert score_table(RUN) in (ROOT / "docs" / "PARITY.md").read_text(), "run `make mutants-results`"


@pytest.mark.long
@pytest.mark.parametrize("backend", DRAWN)
def test_mistakes_drawn_at_random_are_killed_as_published(backend, made):
    seed = time.time_ns()
    now = {mutant.key: mutant for mutant in made[backend]}
    engine = Engine(backend, EVERYTHING, RUN["seeds"], record=False)
    try:
        places = {cell: number for number, cells in enumerate(engine.cells) for cell in cells}
        published = [one for one in records(RUN, backend) if one.key in now and one.status == KILLED and one.cell in places]
        drawn = random.Random(seed).sample([one for one in published if one.cell.startswith(CHEAP)], DRAWN[backend])
        fates = {one.key: engine.judge_by(now[one.key], [places[one.cell]]).status for one in drawn}
    finally:
        engine.stop()
    assert set(fates.values()) == {KILLED}, f"seed {seed}: {fates}"


@pytest.fixture(scope="module")
def planting():
    engine = Engine("torch", EVERYTHING, SEEDS, record=False)
    yield engine
    engine.stop()


@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.name)
def test_what_is_planted_by_hand_is_in_a_line_of_today(planted):
    assert planted.after in planted_mutant(planted).text


@pytest.mark.long(but=2)
@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.name)
def test_what_was_planted_by_hand_is_caught(planted, planting):
    # What torch.compile compiles takes longer than a mistake is given, and being late is no proof.
    asked = [number for number, cells in enumerate(planting.cells) if not cells[0].startswith("fast")]
    verdict = planting.judge_by(planted_mutant(planted), asked)
    print(f"{planted.name}: {verdict.status} by {verdict.cell}: {verdict.said}")
    assert verdict.status == KILLED and "did not answer" not in verdict.said


def test_a_change_that_is_no_mistake_survives(planting):
    asked = [number for number, cells in enumerate(planting.cells) if cells[0].startswith("layer forward: decoder block")]
    verdict = planting.judge_by(planted_mutant(NO_MISTAKE), asked)
    assert (verdict.status, verdict.ran) == (SURVIVED, len(asked)) and len(asked) > 10


SHARED_MISTAKES = ("np.power(20000.0, ", "(10.0 + max(length, 1)) / 6.0")


def test_what_all_backends_share_is_judged_by_numpys_cells():
    """Whose reference computes positions and searches by itself."""
    cells = {"dtypes": ("float64",), "cases": "beam tokens: d2l*|layer forward: positions*"}
    engine = Engine("shared", cells, (0, 1), record=False)
    mistakes = [[one for one in all_mutants("shared") if change in one.key] for change in SHARED_MISTAKES]
    try:
        fates = [engine.judge_by(mistake, [*range(len(engine.cells))]).status for (mistake,) in mistakes]
    finally:
        engine.stop()
    assert fates == [KILLED, KILLED]


def test_numpys_mistakes_are_judged_by_numpy_without_them():
    """Also where nothing is recorded, and the first answer is the reference's to a mistake."""
    engine = Engine("numpy", {"dtypes": ("float64",), "cases": "layer gradients: cross-attention*"}, (0,), record=False)
    (mistake,) = (one for one in all_mutants("numpy") if one.key.endswith("self.attention.backward(heads, places) -> pass"))
    try:
        assert engine.judge_by(mistake, [0]).status == KILLED
    finally:
        engine.stop()


def test_what_all_backends_share_is_judged_by_searches_that_draw_too():
    """Their ``Sampling`` is of the package with the mistake on its side, and of the one without it on the reference's."""
    engine = Engine("shared", {"dtypes": ("float32",), "cases": "greedy tokens: ties*"}, (0, 1), record=False)
    mistakes = [one for one in all_mutants("shared") if "Sampling.truncation: top_k = " in one.key]
    try:
        fates = {one.operator: engine.judge_by(one, [0]).status for one in mistakes}
    finally:
        engine.stop()
    assert fates == {"comparison": KILLED, "swapped arguments": SURVIVED}  # of the smaller of two numbers either may come first


def test_a_recording_goes_on_where_it_was(tmp_path, monkeypatch):
    """A line that was being written when the process ended is recorded again, and what asked otherwise when it was recorded."""
    monkeypatch.setattr(mutation.engine, "KEPT", tmp_path)

    def recorded():
        engine = Engine("numpy", {"dtypes": ("float64",), "cases": "layer forward: positions*"}, (0,))
        try:
            return engine.record(), engine.kept
        finally:
            engine.stop()

    whole, kept = recorded()
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join(lines[:2]) + lines[2][:20])
    again, _ = recorded()
    assert again.cells == whole.cells and again.lines == whole.lines and len(whole.cells) == len(lines) > 2
    assert kept.read_text().splitlines(keepends=True)[:2] == lines[:2]  # what was there stays as it was
    asked = json.loads(lines[0])["asked"]
    kept.write_text("".join([lines[0].replace(asked, "of an earlier request"), *lines[1:]]))
    again, _ = recorded()
    assert again.lines == whole.lines and kept.read_text().count(asked) == 1


def test_a_model_that_keras_copies_is_of_the_classes_without_a_mistake(tmp_path, monkeypatch):
    """Keras finds a copy's classes by their names, which those imported last, for a mistake, have taken."""
    monkeypatch.setattr(mutation.engine, "KEPT", tmp_path)
    engine = Engine("tensorflow", {"dtypes": ("float64",), "cases": "model loss: drawn model*tiny thresholds*"}, (1,))
    try:
        recorded = engine.record()
    finally:
        engine.stop()
    assert len(recorded.cells) > 1 and not recorded.wrong
