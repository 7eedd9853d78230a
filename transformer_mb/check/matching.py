"""Propose the map of weights between two subjects: by names, by shapes, and by what both answer in float64.

Names pair the modules that hold weights; shapes say how each tensor lies in its partner, and which several are packed into one.
What is then open (two norms of like names, the order of q, k and v, which way round a square matrix lies) is tried: the
candidate runs with each, and the first module that answered otherwise than its partner must answer the same. What that leaves
open is said to be ambiguous. Nothing is taken for granted: a proposal says whether both sides agreed with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, combinations, zip_longest
from math import inf, log10
from typing import Any, Protocol

from ..printable import counted
from .matching_choices import Choice, Entries
from .matching_drafts import drafted
from .matching_entries import pasted
from .matching_layers import held, restacked, unstacked
from .matching_names import parted
from .weight_map import Shapes

SAME = 1e-5  # relative; float32 inside is below it
ANOTHER = 1e-2  # another order of random weights is above it, an epsilon or another form of GELU below
MOST_TRIES = 150  # at a module that differs
MOST_OTHERS = 24  # orders that are asked whether they would do as well


@dataclass(frozen=True)
class Agreement:
    """The answers of both sides with the same weights.

    ``whole``: the relative difference of the outputs. ``modules``: by path of the reference that of what the paired modules
    returned, in the order in which they end. ``fed``: of what they were given.
    """

    whole: float
    modules: Mapping[str, float] = field(default_factory=dict)
    fed: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.whole <= SAME

    @property
    def first(self) -> str | None:
        """The first module that differs from its partner, by as much as another order would make it if one does so.

        The layer itself is ''.
        """
        differing = [[path for path, error in self.modules.items() if not error <= least] for least in (ANOTHER, SAME)]
        return next((paths[0] for paths in differing if paths), None if self else "")

    def suspects(self, names: Iterable[str], packed: bool = False) -> bool:
        """Tell whether tensors may be what makes the first module differ.

        They are inside it; or it was fed otherwise than its partner, and they are in no module that answered right. Of those
        that are packed their own module's answer proves nothing.
        """
        if self.first is None:
            return False
        names = list(names)
        if any(_is_inside(name, self.first) for name in names):
            return True
        if self.fed.get(self.first, inf) <= ANOTHER:
            return False
        if packed:
            around = [path for path, error in self.modules.items() if error <= ANOTHER and path not in map(_module_of, names)]
        else:
            around = list(self.modules)
        return not any(_is_inside(name, path) for name in names for path in filter(None, around))

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
        suspected: names of the reference, one of which, or what is computed with it, makes that module differ.
        fillings: vectors of the reference without a partner, for which a number without effect is tried.
        agreed: both sides answered the same with the map; error: the relative difference of their answers.
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
    fillings: tuple[str, ...] = ()
    suspected: tuple[str, ...] = ()

    @property
    def weights(self) -> dict[str, Any]:
        return {name: entry.expression() for name, entry in self.entries.items()}

    @property
    def complete(self) -> bool:
        """Tell whether it pairs everything, without doubt, and both sides agreed."""
        return self.agreed and not (self.ambiguous or self.left or self.left_there)

    @property
    def doubtful(self) -> dict[str, str]:
        """Return the remarks in lines of the map whose pairs the answers do not prove."""
        doubts = {name: "or in another order" for names in self.ambiguous for name in names}
        if not self.agreed and not self.error <= ANOTHER:
            doubts |= dict.fromkeys(self.suspected, "not proven")
        return doubts

    def source(self) -> str:
        """Return the map as Python to paste; doubtful lines say so."""
        return pasted(self.entries, self.doubtful)

    def __str__(self) -> str:
        told = [self.source()]
        for names in self.ambiguous:
            told.append(f"# Ambiguous: in any order, both sides answer the same: {', '.join(names)}.")
        if self.left or self.left_there:
            sides = (("reference", self.left), ("candidate", self.left_there))
            missing = "; ".join(f"of the {side} {', '.join(names)}" for side, names in sides if names)
            told.append(f"# The weight map is incomplete: nothing was found for {missing}.")
        if self.fillings:
            told.append(f"# A number that does nothing stands in the place of a partner of {', '.join(self.fillings)}.")
        return "\n".join([*told, *self._answer()])

    def _answer(self) -> list[str]:
        if self.agreed:
            return [f"# Both sides answered the same with it ({counted(self.tries, 'run')})."]
        where, runs = f"in {self.first}" if self.first else "at the output", counted(self.tries, "run")
        lines = [f"# Not proven: with it the outputs still differ by {self.error:.1e}, first {where} ({runs})."]
        if self.left or self.left_there:
            return lines
        if self.error <= ANOTHER:
            return [*lines, "# Other pairs would differ by about 1; so little is a mistake of another kind: see check.check."]
        return [*lines, "# There tensors are paired in a way that was not tried, or something else is computed."]


def propose(here: Shapes, there: Shapes, kinds: tuple[str, str], respond: Respond) -> Proposal:
    """Return the likeliest map between the tensors of a reference and a candidate, tried through ``respond``."""
    apart, shares = unstacked(here, there)
    apart_there, shares_there = unstacked(there, here)
    draft = drafted(apart, apart_there, kinds)
    choices, tries = draft.choices, 0

    def entries_of(settled: Settled) -> Entries:
        found = {name: one for choice, at in zip(choices, settled, strict=True) for name, one in choice.at(*at).items()}
        return restacked(found, shares, shares_there)

    def ask(settled: Settled, draws: int = 1) -> Agreement:
        nonlocal tries
        tries += draws
        return respond(entries_of(settled), draws)

    settled: Settled = [(0, 0)] * len(choices)
    agreement = ask(settled)
    while not agreement and not agreement.whole <= ANOTHER:  # else all is paired, and something is computed otherwise
        best, found = None, agreement
        for option in _options(choices, settled, agreement):
            answer = ask(option)
            if answer.reached > found.reached:
                best, found = option, answer
            if answer or answer.reached[1] > agreement.reached[1]:
                break
        if best is None:
            break
        settled, agreement = best, found
    ambiguous = []
    if agreement:
        for n, choice in enumerate(choices):
            told = choice.named and (not choice.packed or choice.kind in [one.kind for one in choices[:n]])
            others = [] if told else [i for i in range(len(choice.orders)) if i != settled[n][0]][:MOST_OTHERS]
            if any(ask([*settled[:n], (order, settled[n][1]), *settled[n + 1 :]]) for order in others):
                ambiguous.append(held(tuple(choice.names), shares))
        agreement = ask(settled, 2)
    entries = entries_of(settled)
    return Proposal(
        {name: entries[name] for name in here if name in entries},
        tuple(ambiguous),
        tuple(dict.fromkeys((*held(draft.left, shares), *(name for name in here if name not in entries)))),
        held(draft.left_there, shares_there),
        bool(agreement),
        agreement.whole,
        None if agreement else agreement.first,
        tries,
        held(draft.fillings, shares),
        held(tuple(n for one in choices for n in one.names if agreement.suspects(one.names, one.packed)), shares),
    )


Settled = list[tuple[int, int]]  # by choice the order and the turn


def _module_of(name: str) -> str:
    return parted(name)[0]


def _is_inside(name: str, path: str | None) -> bool:
    return not path or name.startswith(f"{path}.")


def _options(choices: list[Choice], settled: Settled, answer: Agreement) -> Iterator[Settled]:
    """Return other ways to settle the choices that may be wrong, at most MOST_TRIES.

    First all turned; all of one kind in one other way, in later layers too; then one choice alone; then two at once.
    """
    inside = [n for n, choice in enumerate(choices) if answer.suspects(choice.names, choice.packed)]
    ways = {n: [(order, turn) for order, each in enumerate(choices[n].orders) for turn in range(len(each))] for n in inside}
    like = {n: [later for later in range(n, len(choices)) if choices[later].kind == choices[n].kind] for n in inside}
    changes: Iterator[dict[int, tuple[int, int]]] = chain(
        [{n: (settled[n][0], 1 - settled[n][1]) for n in inside if settled[n][1] < 2}],
        _in_turn([dict.fromkeys(like[n], at) for at in ways[n]] for n in inside),
        _in_turn([{n: at} for at in ways[n]] for n in inside),
        ({a: one, b: other} for a, b in combinations(inside, 2) for one in ways[a] for other in ways[b]),
    )
    options = ([change.get(n, at) for n, at in enumerate(settled)] for change in changes)
    seen = [settled]
    for option in options:
        if option not in seen:
            seen.append(option)
            yield option
        if len(seen) > MOST_TRIES:
            return


def _in_turn(lists: Iterable[list[dict[int, tuple[int, int]]]]) -> Iterator[dict[int, tuple[int, int]]]:
    """Return the first of each list, then the second of each, so that a long one does not keep the others waiting."""
    return (one for each in zip_longest(*lists) for one in each if one is not None)
