"""A run of hours that goes on where it was cut: ``pytest -p goes_on`` leaves out the tests that have passed on the same code.

What passed is in build/passed.jsonl, a line per test, with the seconds it took: of the package's code, of what all tests
share, and of the tests of its folder. Whatever of these changes, the test runs again; so does what failed or was skipped.
"""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from transformer_mb.parity.worker import source_digest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PASSED = ROOT / "build" / "passed.jsonl"


class Codes:
    """The digest of all that a test's outcome rests on, by its folder."""

    def __init__(self):
        self.known = {}
        self.shared = [source_digest(), *(path.read_text() for path in sorted(TESTS.glob("*.py")))]

    def of(self, nodeid):
        place = nodeid.partition("::")[0]
        folder = "/".join(place.split("/")[:2])
        if folder not in self.known:
            files = sorted((ROOT / folder).rglob("*.py"))
            texts = [*self.shared, *(path.read_text() for path in files)]
            self.known[folder] = hashlib.sha256("\0".join(texts).encode()).hexdigest()
        return self.known[folder]


class GoesOn:
    """The record of a run; each worker is told what to leave out, so that all of them collect the same tests."""

    def __init__(self, config):
        self.codes, self.failed, self.seconds = Codes(), set(), Counter()
        self.grouped = config.getoption("dist", "no") == "loadgroup"  # then xdist puts @ and the group behind each name
        told = getattr(config, "workerinput", None)
        self.records = told is None
        self.passed = set(told["passed"] if told else self.read())

    def read(self):
        lines = PASSED.read_text().splitlines() if PASSED.is_file() else []
        return {one["test"] for one in map(json.loads, lines) if one["code"] == self.codes.of(one["test"])}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["passed"] = sorted(self.passed)

    @pytest.hookimpl(tryfirst=True)  # before xdist changes the names
    def pytest_collection_modifyitems(self, config, items):
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in self.passed])
        items[:] = [item for item in items if item.nodeid not in self.passed]

    def pytest_runtest_logreport(self, report):
        test = report.nodeid.rpartition("@")[0] if self.grouped else report.nodeid
        self.seconds[test] += report.duration
        if not report.passed:
            self.failed.add(test)
        if self.records and report.when == "teardown" and test not in self.failed:
            PASSED.parent.mkdir(exist_ok=True)
            line = {"test": test, "seconds": round(self.seconds[test], 1), "code": self.codes.of(test)}
            with PASSED.open("a") as file:
                file.write(json.dumps(line) + "\n")


def pytest_configure(config):
    config.pluginmanager.register(GoesOn(config))
