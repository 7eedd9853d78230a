"""What pytest is told for the suite: which backend is tested, and which cases a quick run leaves out."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
MARKERS = (
    "two_bytes: multiplies in a format of two bytes; a framework may have no such product under a processor's setting",
    'long: left out by -m "not long"; with but=n, all its cases but n, evenly spread',
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--backend", help="the backend that transformer_mb's conformance suite tests")


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the suite out where the configuration lists it, and nobody has named a backend."""
    listed = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return True if listed and not config.getoption("--backend") and collection_path.is_relative_to(FOLDER) else None


@pytest.hookimpl(tryfirst=True)  # before what -m says
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take the mark ``long(but=n)`` from n of a test's cases, evenly spread: the others are more of the same."""
    cases = defaultdict(list)
    for item in items:
        cases[item.path, getattr(item.parent, "name", ""), getattr(item, "originalname", item.name)].append(item)
    for own in cases.values():
        counts = [mark.kwargs["but"] for mark in own[0].iter_markers("long") if mark.kwargs]
        for i in {round(i * len(own) / count) for count in counts for i in range(count)}:
            own[i].own_markers[:] = [mark for mark in own[i].own_markers if mark.name != "long" or not mark.kwargs]
