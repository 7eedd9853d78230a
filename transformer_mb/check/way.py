"""The way in which a case fails in float64: which module is the first that is wrong by itself, and what of it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from .bisection import bisect
from .cases import Case
from .session import Session


@dataclass(frozen=True)
class Way:
    """The way in which a case fails.

    Args:
        module: the path in the reference of the first module that is wrong by itself; the layer itself is "".
        what: ``values`` or, where these are right, ``gradients``.
    """

    module: str
    what: str

    def __str__(self) -> str:
        return f"Wrong {self.what} in {self.module or 'the layer itself'}"

    def to_dict(self) -> dict[str, str]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, str]) -> Way:
        return cls(content.get("module", ""), content.get("what", ""))


def way_of(session: Session, case: Case) -> Way | None:
    """Return how a case fails, gradients only where all values are right; None where every module is right by itself."""
    for what, gradients in (("values", False), ("gradients", True)):
        if not gradients or session.gradients:
            first = bisect(session, case, session.truth, backward=gradients).first
            if first is not None:
                return Way(first, what)
    return None
