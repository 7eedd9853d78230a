"""The plugin that pytest loads wherever this package is installed; it imports no framework, and NumPy not before it is used.

    def test_the_port(parity):
        parity.check(REFERENCE, CANDIDATE, inputs={"x": check.floats(2, 5, 64)}, weights=WEIGHTS)


    @agree(REFERENCE, REFERENCE.compiled(), REFERENCE.device("cuda"), inputs={"x": check.floats(2, 5, 64)})
    def test_block(): ...

``--parity-report DIR`` writes what each comparison found, ``--parity-lock FILE`` fails where fewer ran than the file says, and
``--parity-cases NAME`` runs the comparisons that another package offers by the entry point ``transformer_mb.parity_cases``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from .comparisons import Parity as Parity
from .comparisons import ParityCase as ParityCase
from .comparisons import agree as agree
from .results import Results

SUITE = "transformer_mb.conformance"
RESULTS = pytest.StashKey[Results]()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Know ``--backend`` where the conformance suite is asked for by name or path: its own conftest is read too late."""
    if any(SUITE in argument.replace(os.sep, ".") for argument in args):
        early_config.pluginmanager.import_plugin(f"{SUITE}.options")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("transformer_mb", "comparisons of layers, models and ports")
    group.addoption("--parity-report", metavar="DIR", type=Path, help="write what each comparison found into a new folder")
    group.addoption("--parity-lock", metavar="FILE", type=Path, help="fail where fewer comparisons ran than this file says")
    group.addoption(
        "--parity-lock-write", action="store_true", help="write --parity-lock's file: what ran now is what must run"
    )
    group.addoption("--parity-seed", metavar="N", type=int, default=0, help="of the weights and inputs that are drawn")
    group.addoption("--parity-cases", metavar="NAME", action="append", default=[], help="run the cases of an entry point too")


def pytest_configure(config: pytest.Config) -> None:
    report, lock, write = (config.getoption(f"--parity-{name}") for name in ("report", "lock", "lock-write"))
    results = Results(report, lock, write, first=not hasattr(config, "workerinput"))
    config.stash[RESULTS] = results
    config.pluginmanager.register(results, "transformer_mb results")


@pytest.fixture
def parity(request: pytest.FixtureRequest) -> Parity:
    """Compare two subjects of ``transformer_mb.check`` in a test: ``parity.check(reference, candidate, inputs=...)``."""
    return Parity(request.config, request.node)


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the cases that were named; loading an entry point runs that package's code, which happens for no other."""
    names = config.getoption("--parity-cases")
    if names:
        from .cases import case_items

        items += case_items(session, names)


def pytest_sessionfinish(session: pytest.Session) -> None:
    results = session.config.stash[RESULTS]
    if results.finished() and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    for line in config.stash[RESULTS].lines:
        terminalreporter.write_line(line)
