"""Known differences of a backend with their reasons, listed by the backend itself. None is the aim.

Each is a strict expected failure, of the conformance suite as of the matrix: what starts to work fails until its row is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields

from .errors import BackendError

KINDS = ("not yet ours", "not yet theirs", "never")


@dataclass(frozen=True)
class Divergence:
    """A known difference of the backend in whose ``divergences`` it stands.

    Args:
        case: a cell's whole id, ``model forward: std norm [float32]``, or a test's from its
            file on: ``test_model.py::test_logits[std norm]``.
        kind: ``not yet ours`` (to be written), ``not yet theirs`` (the framework's bug or gap), ``never`` (by design).
        reason: what happens, with the measured figure. link: where the framework's source or issue says so.
    Raises: BackendError for another kind, and for a word that is left empty.
    """

    case: str
    kind: str
    reason: str
    link: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BackendError(f"The kind of a divergence must be one of {', '.join(KINDS)}, got {self.kind!r}.")
        empty = [
            name for name, value in zip(fields(self), astuple(self), strict=True) if not (isinstance(value, str) and value)
        ]
        if empty:
            raise BackendError(f"The {empty[0].name} of a divergence must be a text, got {getattr(self, empty[0].name)!r}.")

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason} ({self.link})"


def of_case(divergences: Iterable[Divergence], case: str) -> Divergence | None:
    """Return the row of a cell's id or of a test's, if there is one."""
    return next((row for row in divergences if case == row.case or case.endswith(f"/{row.case}")), None)
