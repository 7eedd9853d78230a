"""Errors of the system, and of other parts of this project, as PortErrors."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ...errors import PortError


@contextmanager
def system_errors(problem: str, *others: type[Exception], end: str = "") -> Iterator[None]:
    """An OSError, or one of ``others``, is raised as ``problem`` and the reason."""
    kinds: tuple[type[Exception], ...] = (OSError, *others)
    try:
        yield
    except kinds as error:
        raise PortError(f"{problem}: {getattr(error, 'strerror', None) or error}.{end}") from None


def unwritten(destination: Path) -> AbstractContextManager[None]:
    """Report what cannot be written of a result under its user's name: until it is whole it lies under another name."""
    return system_errors(f"{destination} cannot be written", end=" What was there before is unchanged.")


@contextmanager
def port_errors(*kinds: type[Exception], begin: str = "", end: str = "") -> Iterator[None]:
    """Errors of these kinds are raised with their own words, between others."""
    try:
        yield
    except kinds as error:
        raise PortError(f"{begin}{error}{end}") from None


def absent(packages: Iterable[str]) -> list[str]:
    """Return the packages that are not installed; none is imported."""
    return [package for package in packages if importlib.util.find_spec(package) is None]


def check_installed(packages: Iterable[str], work: str) -> None:
    """Refuse ``work``, such as "Reading m.pt", where a package is missing that it takes."""
    if missing := absent(packages):
        raise PortError(f"{work} takes {', '.join(missing)}, which is not installed: pip install {' '.join(missing)}.")
