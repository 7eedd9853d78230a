"""Comparisons inside tests: the fixture's object, the decorator, and a case that a package offers by its name."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from .results import PROPERTY

if TYPE_CHECKING:
    from ..check import Report, Subject


@dataclass(frozen=True)
class ParityCase:
    """A comparison by name: an entry point of ``transformer_mb.parity_cases`` names a list of these.

    Args:
        reference, candidate: subjects. how: what ``transformer_mb.check.check`` takes beside them.
    """

    name: str
    reference: Subject
    candidate: Subject
    how: Mapping[str, Any] = field(default_factory=dict)


class Parity:
    """The object that the fixture ``parity`` gives to a test."""

    def __init__(self, config: pytest.Config, item: pytest.Item):
        self.config, self.item = config, item

    def check(self, reference: Subject, candidate: Subject, **how: Any) -> Report:
        """Compare as ``transformer_mb.check.check`` does, whose report is returned; one that does not pass fails the test.

        The seed is that of ``--parity-seed``, where none is given.
        """
        __tracebackhide__ = True
        from ..check import check

        report = check(reference, candidate, **{"seed": self.config.getoption("--parity-seed"), **how})
        name = f"{reference} / {candidate}"
        row: dict[str, Any] = {"name": name, "verdict": report.verdict, "text": str(report)}
        if self.config.getoption("--parity-report"):
            row["report"] = report.to_dict()
        self.item.user_properties.append((PROPERTY, json.dumps(row)))
        return report.require()


def agree(reference: Subject, *candidates: Subject, **how: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a test of a function, for each candidate: it is compared with the reference, and the function called afterwards.

    Args:
        how: what ``transformer_mb.check.check`` takes. The function may take fixtures, and the report as ``report``.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = list(inspect.signature(function).parameters)

        @functools.wraps(function)
        def test(**given: Any) -> None:
            __tracebackhide__ = True
            report = given.pop("parity").check(reference, given.pop("candidate"), **how)
            function(**given, **({"report": report} if "report" in own else {}))

        names = dict.fromkeys([*(name for name in own if name != "report"), "parity", "candidate"])
        only = inspect.Parameter.KEYWORD_ONLY
        test.__signature__ = inspect.Signature([inspect.Parameter(name, only) for name in names])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("candidate", candidates, ids=str)(test)

    return decorate
