"""A long run that was cut goes on: what passed is left out while the code is the same."""

from types import SimpleNamespace

import goes_on
import pytest

TEST, OTHER = "tests/tools/test_goes_on.py::a[x@y]", "tests/tools/test_goes_on.py::b"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that makes the plugin as a run does that groups its tests, or as one of its workers does."""
    monkeypatch.setattr(goes_on, "PASSED", tmp_path / "passed.jsonl")
    return lambda **told: goes_on.GoesOn(SimpleNamespace(getoption=lambda *_: "loadgroup", **told))


def tell(plugin, test, outcomes):
    for when, outcome in zip(("setup", "call", "teardown"), outcomes, strict=True):
        report = SimpleNamespace(nodeid=f"{test}@group", when=when, passed=outcome, duration=0.5)
        plugin.pytest_runtest_logreport(report)


def left(plugin):
    items = [SimpleNamespace(nodeid=test) for test in (TEST, OTHER)]
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))
    plugin.pytest_collection_modifyitems(config, items)
    return [item.nodeid for item in items]


@pytest.mark.parametrize("failing", [(False, True, True), (True, False, True), (True, True, False)])
def test_what_passed_in_all_its_phases_is_left_out_of_the_next_run(run, failing):
    first = run()
    tell(first, TEST, (True, True, True))
    tell(first, OTHER, failing)
    assert left(first) == [TEST, OTHER]  # not of the run itself
    assert left(run()) == [OTHER]
    assert left(run(workerinput={"passed": [OTHER]})) == [TEST]  # a worker leaves out what it is told, whatever the file says


def test_what_passed_on_other_code_runs_again(run, monkeypatch):
    tell(run(), TEST, (True, True, True))
    monkeypatch.setattr(goes_on, "source_digest", lambda: "another")
    assert left(run()) == [TEST, OTHER]
