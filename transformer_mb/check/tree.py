"""The modules of a failed check, each with its own error and the one that it inherits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..printable import listed
from ..reports.record import finite
from .limits import Figure

JUMP = 10.0  # times the error of the module before: a jump; less is growth
GROWTH = 2.0  # times the first error that the last one is at least, to be called growth
PARTS = 3  # of the layer itself that are named
QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True)
class Node:
    """Two modules that stand for each other, in one call.

    Args:
        reference, candidate: their paths; the whole is empty. number: of the call.
        forward, backward: the worst figure of what it computes by itself; None where nothing could be compared.
        inherited: the error of its output in the candidate's own run; None where its output is no array of that shape.
        quantiles: of the size of its own error in units of the root mean square, at QUANTILES. usual: of the reference's own
            error in that dtype; none in float64.
        single: the parts of it that compute in float32 in a float64 run, and are held to its limits. sides: where they do.
    """

    reference: str
    candidate: str
    number: int
    forward: Figure | None
    backward: Figure | None
    inherited: float | None
    quantiles: tuple[float, ...] = ()
    usual: tuple[float, ...] = ()
    single: tuple[str, ...] = ()
    sides: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return any(one is not None and not one.passed for one in (self.forward, self.backward))

    @property
    def name(self) -> str:
        name = self.reference or "the whole"
        name += f" (call {self.number + 1})" if self.number else ""
        return name if self.candidate == self.reference else f"{name} = {self.candidate or 'the whole'}"


def _at_quantiles(values: tuple[float, ...]) -> str:
    return ", ".join(f"{100 * share:g} % {value:.1e}" for share, value in zip(QUANTILES, values, strict=True))


def _wrong_forward(node: Node) -> bool:
    return node.forward is not None and not node.forward.passed


def _shown(one: Figure) -> str:
    if one.passed:
        return f"{one.error:.0e}" + (", in float32" if one.rule else "")
    return f"{one.error:.0e} WRONG in {one.part}" if one.error < float("inf") else f"WRONG in {one.part}: {one.reason}"


@dataclass(frozen=True)
class Tree:
    """The modules of a failed check, in the order in which the reference's end: those inside a module come before it."""

    dtype: str
    nodes: tuple[Node, ...]

    @property
    def first(self) -> str | None:
        """The path in the reference of the first module that is wrong by itself, forward before backward; the whole is ''."""
        node = self.first_node
        return None if node is None else node.reference

    @property
    def first_node(self) -> Node | None:
        """Return that module."""
        forward = [node for node in self.nodes if _wrong_forward(node)]
        backward = [node for node in reversed(self.nodes) if node.failed]
        return next(iter([*forward, *backward]), None)

    @property
    def single(self) -> list[str]:
        """Name what computes in float32 in a float64 run; of the layer itself, the part of it that does."""
        found = []
        for node in self.nodes:
            if node.single:
                where = f"{node.name} of {' and '.join(reversed(node.sides))}" if node.sides else node.name
                found.append(where if node.reference else f"{where} ({listed(node.single, PARTS)})")
        return found

    @property
    def course(self) -> str:
        """Say whether the error jumps at a module or grows from one to the next; nothing where gradients alone are wrong."""
        if (first := self.first_node) is not None and not _wrong_forward(first):
            return ""
        errors = [(node, node.inherited) for node in self.nodes if node.inherited is not None and node.inherited > 0.0]
        if len(errors) < 2:
            return ""
        steps = list(pairwise(errors))
        (_, before), (where, after) = steps[int(np.argmax([after / before for (_, before), (_, after) in steps]))]
        if after >= JUMP * before:
            return f"the error jumps from {before:.1e} to {after:.1e} at {where.name}"
        if errors[-1][1] < GROWTH * errors[0][1]:
            return ""
        return f"the error grows step by step, from {errors[0][1]:.1e} to {errors[-1][1]:.1e} over {len(errors)} modules"

    def to_dict(self) -> dict[str, Any]:
        return finite(
            {"dtype": self.dtype, "first": self.first, "course": self.course, "nodes": [asdict(n) for n in self.nodes]}
        )

    def __str__(self) -> str:
        lines = [f"modules in {self.dtype}, each fed what the reference's was:"]
        first = self.first_node
        for node in self.nodes:
            indent = "  " * (node.reference.count(".") + 1 if node.reference else 0)
            judged = (("own", node.forward), ("backward", node.backward))
            own = "; ".join(f"{words} {_shown(one)}" for words, one in judged if one is not None)
            inherited = "" if node.inherited is None else f"; inherited {node.inherited:.1e}"
            lines.append(f"{'->' if node is first else '  '} {indent}{node.name}: {own}{inherited}")
        if first is None:
            lines.append("every module is right by itself")
        elif first.quantiles and _wrong_forward(first):
            lines.append(f"own error of {first.name}, in units of the root mean square: {_at_quantiles(first.quantiles)}")
            lines += [f"the reference's own there: {_at_quantiles(first.usual)}"] if first.usual else []
        return "\n".join([*lines, *filter(None, [self.course])])
