"""The result of a check: a verdict, why a difference is fine, or what is wrong and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..errors import TransformerMBError
from ..printable import counted
from .limits import Figure

if TYPE_CHECKING:
    from .cases import Case

PASSED, DIFFERENT, BLIND, BROKEN = "passed", "different", "blind", "broken"
WORDS = {
    PASSED: "the same",
    DIFFERENT: "different",
    BLIND: "not shown: mistakes would not be noticed",
    BROKEN: "not shown: a change that cannot matter was taken for a mistake",
}
SHOWN = 8  # names of a kind
WORST = 3  # figures that failed


class Disagreement(TransformerMBError, AssertionError):
    """A check that did not pass; its text is the report."""

    exit_status = 1


@dataclass(frozen=True)
class Plant:
    """A mistake that was planted into the comparison.

    Args:
        what: in words. status: ``caught``; ``no effect`` where it cannot matter to this layer; ``blind`` where it would matter
            to other inputs or weights, and nothing noticed it here.
    """

    what: str
    status: str


@dataclass(frozen=True)
class Report:
    """The findings of a check.

    Args:
        reference, candidate: the subjects in words. draws: how many cases were drawn.
        figures: every array in every dtype, of the draw in which it takes most of its limit.
        planted: the mistakes that were planted. steady: whether changes that cannot matter passed.
        tree: of a failed check, its modules: see ``bisection``. notes: what weakens the verdict or is worth knowing.
        failed_case: the first case that failed.
        greetings: by role, what each process said of itself. seconds: the time that all of it took.
    """

    reference: str
    candidate: str
    draws: int
    figures: tuple[Figure, ...]
    planted: tuple[Plant, ...] = ()
    steady: bool = True
    tree: Any = None
    notes: tuple[str, ...] = ()
    failed_case: Case | None = None
    greetings: Mapping[str, Mapping[str, Any]] | None = None
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """Return ``passed``, ``different``, ``blind`` or ``broken``."""
        if not self.figures or not all(one.passed for one in self.figures):
            return DIFFERENT
        if not self.steady:
            return BROKEN
        return BLIND if any(plant.status == "blind" for plant in self.planted) else PASSED

    @property
    def passed(self) -> bool:
        return self.verdict == PASSED

    def require(self) -> Report:
        """Return this report if it passed. Raises Disagreement, whose text is the report, if not."""
        if not self.passed:
            raise Disagreement(str(self))
        return self

    def __bool__(self) -> bool:
        return self.passed

    def to_dict(self) -> dict[str, Any]:
        """Return JSON: everything but the arrays of the failed case."""
        return {
            "verdict": self.verdict,
            "reference": self.reference,
            "candidate": self.candidate,
            "draws": self.draws,
            "figures": [one.to_dict() for one in self.figures],
            "planted": [asdict(plant) for plant in self.planted],
            "steady": self.steady,
            "tree": None if self.tree is None else self.tree.to_dict(),
            "notes": list(self.notes),
            "processes": {role: dict(greeting) for role, greeting in (self.greetings or {}).items()},
            "seconds": round(self.seconds, 2),
        }

    def __str__(self) -> str:
        head = f"{self.reference} against {self.candidate}: {WORDS[self.verdict]}, in {counted(self.draws, 'draw')}"
        lines = [head, *self._by_kind(), *self._failed(), *self._planted(), *map("note: {}".format, self.notes)]
        if self.tree is not None:
            lines += str(self.tree).splitlines()
        return "\n".join(lines)

    def _by_kind(self) -> list[str]:
        """Return a line per dtype and kind: the figure that takes most of its limit."""
        groups: dict[tuple[str, str], list[Figure]] = {}
        for one in self.figures:
            groups.setdefault((one.dtype, one.kind), []).append(one)
        lines = []
        for (dtype, kind), group in groups.items():
            worst = max(group, key=lambda one: (not one.passed, one.share))
            failed = sum(not one.passed for one in group)
            mark = f"{failed} of {len(group)} WRONG" if failed else f"{len(group)}" if kind == "gradients" else ""
            lines.append(f"{dtype} {kind}{f' ({mark})' if mark else ''}: {worst.reason}{_of(worst, group)}")
        return lines

    def _failed(self) -> list[str]:
        failed = sorted((one for one in self.figures if not one.passed), key=lambda one: -_finite(one.share))
        lines = [f"  {one.dtype} {one.part}: {one.reason}" for one in failed[:WORST]]
        return lines + ([f"  and {len(failed) - WORST} more"] if len(failed) > WORST else [])

    def _planted(self) -> list[str]:
        if not self.planted:
            return []
        by = {status: [one.what for one in self.planted if one.status == status] for status in ("caught", "blind", "no effect")}
        counts = len(by["caught"]), len(by["caught"]) + len(by["blind"])
        lines = ["{} of {} planted mistakes caught".format(*counts) + ("" if self.steady else "; NOT STEADY")]
        lines += [f"  BLIND to: {what}" for what in by["blind"][:SHOWN]]
        if by["no effect"]:
            rest = len(by["no effect"]) - SHOWN
            lines.append(
                f"without effect on either side: {'; '.join(by['no effect'][:SHOWN])}{f'; {rest} more' if rest > 0 else ''}"
            )
        return lines


def _of(figure: Figure, group: list[Figure]) -> str:
    return f" ({figure.part})" if len(group) > 1 else ""


def _finite(value: float) -> float:
    return value if value < float("inf") else 1e300
