"""Propose the map of weights between two subjects: by names, by shapes, and by what both answer in float64.

Names pair the modules that hold weights; shapes say how each tensor lies in its partner, and which several are packed into one.
What is then open (two norms of like names, the order of q, k and v, which way round a square matrix lies) is tried: the
candidate runs with each, and the first module that answered otherwise than its partner must answer the same. What that leaves
open is said to be ambiguous. Nothing is taken for granted: a proposal says whether both sides agreed with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import inf, log10
from typing import Protocol

from .matching_choices import Choice, Entries, Modules, by_modules, modules_of, mostly_turned, packed, unpacked
from .weight_map import Shapes

SAME = 1e-5  # relative; float32 inside is below it
ANOTHER = 1e-2  # another order of random weights is above it, an epsilon or another form of GELU below
MOST_TRIES = 72


@dataclass(frozen=True)
class Agreement:
    """The answers of both sides with the same weights.

    ``whole``: the relative difference of the outputs. ``modules``: by path of the reference that of what the paired modules
    returned, in the order in which they end.
    """

    whole: float
    modules: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.whole <= SAME

    @property
    def first(self) -> str | None:
        """The first module that differs from its partner, by as much as another order would make it if one does so.

        The layer itself is ''.
        """
        differing = [[path for path, error in self.modules.items() if not error <= least] for least in (ANOTHER, SAME)]
        return next((paths[0] for paths in differing if paths), None if self else "")

    @property
    def reached(self) -> tuple[bool, int, int]:
        """Return how far both agree, and how near they stay, in decades: better is larger."""
        agreeing = list(self.modules.values())
        first = next((n for n, error in enumerate(agreeing) if not error <= ANOTHER), len(agreeing))
        return bool(self), first, -round(log10(self.whole)) if 0.0 < self.whole < inf else 0


class Respond(Protocol):
    """Run both sides with weights paired so, of several draws."""

    def __call__(self, entries: Entries, draws: int = 1) -> Agreement: ...


@dataclass(frozen=True)
class Proposal:
    """A map of weights, as far as it could be found.

    Args:
        entries: by name of the reference; ``weights`` has them as ``check`` takes them.
        ambiguous: sets of names of the reference whose partners could as well change places.
        left: tensors of the reference without a partner; left_there: of the candidate.
        agreed: both sides answered the same with it; error: by how much they differed all the same, relatively.
        first: the first module of the reference that differed, if one did.
        tries: how many ways were tried.
    """

    entries: Entries
    ambiguous: tuple[tuple[str, ...], ...]
    left: tuple[str, ...]
    left_there: tuple[str, ...]
    agreed: bool
    error: float
    first: str | None
    tries: int

    @property
    def weights(self) -> dict[str, object]:
        return {name: entry.expression() for name, entry in self.entries.items()}

    @property
    def complete(self) -> bool:
        """Tell whether it pairs everything, without doubt, and both sides agreed."""
        return self.agreed and not (self.ambiguous or self.left or self.left_there)

    def source(self) -> str:
        """Return the map as Python to paste; doubtful lines say so."""
        doubtful = {name for names in self.ambiguous for name in names}
        lines = [
            f'    "{name}": {entry.source()},{"  # or in another order" * (name in doubtful)}'
            for name, entry in self.entries.items()
        ]
        return "\n".join(["WEIGHTS = {", *lines, "}"])

    def __str__(self) -> str:
        told = [self.source()]
        for names in self.ambiguous:
            told.append(f"# Ambiguous: in any order, both sides answer the same: {', '.join(names)}.")
        for side, names in (("reference", self.left), ("candidate", self.left_there)):
            if names:
                told.append(f"# Without a partner, of the {side}: {', '.join(names)}.")
        if self.agreed:
            told.append(f"# Both sides answered the same with it ({self.tries} runs).")
        else:
            where = f"in {self.first}" if self.first else "at the output"
            told.append(
                f"# Not proven: with it the outputs still differ by {self.error:.1e}, first {where} ({self.tries} runs).\n"
                "# Another order of random weights would differ by about 1; less is a mistake of another kind: see check.check."
            )
        return "\n".join(told)


def propose(here: Shapes, there: Shapes, kinds: tuple[str, str], respond: Respond) -> Proposal:
    """Return the likeliest map between the tensors of a reference and a candidate, tried through ``respond``."""
    choices, left, left_there = drafted(here, there, kinds)
    settled = [(0, 0)] * len(choices)
    tries, agreement = 1, respond(_entries(choices, settled))
    while not agreement:
        inside = [n for n, choice in enumerate(choices) if _within(choice, agreement.first)]
        best, found = None, agreement
        for option in _options(choices, settled, inside):
            tries += 1
            answer = respond(_entries(choices, option))
            if answer.reached > found.reached:
                best, found = option, answer
            if answer:
                break
        if best is None:
            break
        settled, agreement = best, found
    ambiguous = []
    if agreement:
        for n, choice in enumerate(choices):
            others = [] if choice.named else [i for i in range(len(choice.orders)) if i != settled[n][0]]
            for order in others:
                tries += 1
                if respond(_entries(choices, [*settled[:n], (order, settled[n][1]), *settled[n + 1 :]])):
                    ambiguous.append(tuple(choice.names))
                    break
        agreement, tries = respond(_entries(choices, settled), draws=2), tries + 2
    entries = _entries(choices, settled)
    ordered = {name: entries[name] for name in here if name in entries}
    first = None if agreement else agreement.first
    return Proposal(ordered, tuple(ambiguous), left, left_there, bool(agreement), agreement.whole, first, tries)


def drafted(here: Shapes, there: Shapes, kinds: tuple[str, str]) -> tuple[list[Choice], tuple[str, ...], tuple[str, ...]]:
    """Return the choices that names and shapes leave, and the tensors of each side that nothing fits."""
    ours, theirs = modules_of(here), modules_of(there)
    turned = mostly_turned(by_modules(ours, theirs, False)[0], here, kinds)
    choices, rest, rest_there = by_modules(ours, theirs, turned)
    found, taken, parts = packed(_of(ours, rest), _of(theirs, rest_there), turned)
    rest, rest_there = [path for path in rest if path not in taken], [path for path in rest_there if path not in parts]
    more, taken, parts = unpacked(_of(theirs, rest_there), _of(ours, rest), turned)
    rest, rest_there = [path for path in rest if path not in parts], [path for path in rest_there if path not in taken]
    left = tuple(name for path in rest for name, _ in ours[path].values())
    return choices + found + more, left, tuple(name for path in rest_there for name, _ in theirs[path].values())


def _of(modules: Modules, paths: list[str]) -> Modules:
    return {path: modules[path] for path in paths}


def _entries(choices: list[Choice], settled: list[tuple[int, int]]) -> Entries:
    return {name: entry for choice, at in zip(choices, settled, strict=True) for name, entry in choice.at(*at).items()}


def _within(choice: Choice, path: str | None) -> bool:
    return not path or any(name.startswith(f"{path}.") for name in choice.names)


def _options(choices: list[Choice], settled: list[tuple[int, int]], inside: list[int]) -> Iterator[list[tuple[int, int]]]:
    """Return the ways to settle these choices: all as they lie or all turned, in each order, at most MOST_TRIES."""
    orders = product(*(range(len(choices[n].orders)) for n in inside))
    count = 0
    for order in orders:
        for turn in (0, 1):
            if count == MOST_TRIES:
                return
            count += 1
            option = list(settled)
            for n, at in zip(inside, order, strict=True):
                option[n] = (at, turn)
            if option != settled:
                yield option
