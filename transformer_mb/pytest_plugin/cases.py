"""Comparisons that other packages offer by entry point, as tests of a run that has named them."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from typing import Any

import pytest

from .comparisons import Parity, ParityCase

GROUP = "transformer_mb.parity_cases"


class CaseItem(pytest.Item):
    """A test that is a case of another package."""

    def __init__(self, *, case: ParityCase, **options: Any):
        super().__init__(**options)
        self.case = case

    def runtest(self) -> None:
        Parity(self.config, self).check(self.case.reference, self.case.candidate, **self.case.how)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """Return what did not agree, which is a report, without the way to it."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, self.name


def case_items(session: pytest.Session, names: Sequence[str]) -> list[pytest.Item]:
    """Load the entry points of these names: a test for each of their cases. Raises UsageError for an unknown name."""
    points = {point.name: point for point in importlib.metadata.entry_points(group=GROUP)}
    items: list[pytest.Item] = []
    for name in names:
        if name not in points:
            known = ", ".join(points) or "none, since no installed package offers any"
            raise pytest.UsageError(f"--parity-cases must be one of {known}, got {name!r}.")
        cases = points[name].load()
        if not isinstance(cases, list | tuple) or not all(isinstance(case, ParityCase) for case in cases):
            raise pytest.UsageError(f"The entry point {name!r} of {GROUP} must name a list of ParityCase, got {cases!r:.80}.")
        items += [CaseItem.from_parent(session, name=f"{GROUP}::{name}::{case.name}", case=case) for case in cases]
    return items
