"""Modules by themselves: those of both sides are fed the same at the sites that are paired."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..random_streams import stream
from ..rounding import rounded
from .cases import EPS, Arrays, Case
from .pairing import Same, in_order
from .session import Session
from .side import Passed
from .taps import Site

COPIES = 2  # perturbed copies of what the modules are fed, which measure what they lose
NUDGE = 2.0**-30  # relative; float32 feels no change of less than 2**-24


@dataclass(frozen=True)
class Own:
    """The results of modules by themselves, and the gradients of weights by the reference's names."""

    passed: Passed
    weights: Mapping[str, np.ndarray]


Pick = Callable[[Own], np.ndarray]  # of one array


@dataclass(frozen=True)
class Feed:
    """The numbers that are fed: weights, and for each place that is paired the array there and the gradient that follows it."""

    weights: Arrays
    values: Sequence[np.ndarray]
    cotangents: Sequence[np.ndarray | None]


class Fed:
    """The modules of both sides, fed what passes in the reference's own run.

    Sites without a partner are fed nothing: there both sides go on with what they compute, so that both compute the same.
    """

    def __init__(self, session: Session, case: Case, dtype: str, reference: Passed, same: Sequence[Same]):
        self.session, self.case, self.dtype, self.same = session, case, dtype, same
        values = [reference.values[one.reference[0]] for one in same]
        self.feed = Feed(case.weights, values, [_summed(reference, one.reference) for one in same])
        self._draws: dict[str, list[tuple[Own, Own | None]]] = {}

    @cached_property
    def exact(self) -> Own:
        return self.by_reference(self.session.truth, self.feed)

    @cached_property
    def got(self) -> Own:
        return self.by_candidate(self.feed)

    @cached_property
    def nudged(self) -> tuple[Own, Own]:
        """The results of both sides, the reference first, from numbers that are moved by NUDGE, relatively."""
        return self._off_by(NUDGE)

    @cached_property
    def nudged_back(self) -> tuple[Own, Own]:
        """The results of both sides, the reference first, from numbers that are moved by -NUDGE, relatively."""
        return self._off_by(-NUDGE)

    def _off_by(self, nudge: float) -> tuple[Own, Own]:
        feed = self._nudged(nudge)
        reference, candidate = self.session.at_once(
            lambda: self.by_reference(self.session.truth, feed), lambda: self.by_candidate(feed)
        )
        return reference, candidate

    def draws(self, dtype: str) -> list[tuple[Own, Own | None]]:
        """Return what the reference's modules compute exactly from copies of the feed, and what they do in the dtype."""
        if dtype not in self._draws:
            self._draws[dtype] = [self._drawn(dtype, number) for number in range(COPIES + 1)]
        return self._draws[dtype]

    def _drawn(self, dtype: str, number: int) -> tuple[Own, Own | None]:
        feed = self._copy(dtype, number)
        inexact = dtype != self.session.truth and self.session.reference.offers(dtype)
        exact = self.by_reference(self.session.truth, feed)
        return exact, self.by_reference(dtype, feed) if inexact else None

    def by_reference(self, dtype: str, feed: Feed) -> Own:
        given = dict(self._at([one.reference for one in self.same], feed.values))
        cotangents = dict(self._at([one.reference for one in self.same], feed.cotangents, shared=True))
        seed, inputs = self.case.seed, self.case.inputs
        return Own(*self.session.reference.exchange(dtype, feed.weights, inputs, given, cotangents, seed))

    def by_candidate(self, feed: Feed) -> Own:
        places = [one.candidate for one in self.same]
        given = dict(self._at(places, self._turned(feed.values)))
        cotangents = dict(self._at(places, self._turned(feed.cotangents), shared=True))
        weights, seed = self.session.map.to_candidate(feed.weights), self.case.seed
        passed, gradients = self.session.candidate.exchange(self.dtype, weights, self.case.inputs, given, cotangents, seed)
        return Own(in_order(passed, self.same), self.session.arranged(gradients))

    def _turned(self, arrays: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
        """Return the arrays of the places with their axes in the candidate's order."""
        pairs = zip(arrays, self.same, strict=True)
        return [None if array is None else array.transpose(one.layout) for array, one in pairs]

    @staticmethod
    def _at(
        places: Sequence[tuple[Site, ...]], arrays: Sequence[np.ndarray | None], shared: bool = False
    ) -> Iterator[tuple[Site, np.ndarray]]:
        """Yield the array of each site; what is given several times has the gradient of all of them together, ``shared``."""
        for sites, array in zip(places, arrays, strict=True):
            if array is not None:
                yield from ((site, array / len(sites) if shared else array) for site in sites)

    def _nudged(self, nudge: float) -> Feed:
        def off(kind: str, array: np.ndarray) -> np.ndarray:
            return array * (1.0 + nudge * stream("nudge", kind).uniform(-1.0, 1.0, array.shape)) if _floats(array) else array

        return Feed(
            # A number that fills a tensor without a partner is no weight of the candidate, which could not follow it.
            {n: off(f"weight {n}", one) if n in self.session.map.pairs else one for n, one in self.feed.weights.items()},
            [off(f"value {n}", value) for n, value in enumerate(self.feed.values)],
            [None if one is None else off(f"cotangent {n}", one) for n, one in enumerate(self.feed.cotangents)],
        )

    def _copy(self, dtype: str, number: int) -> Feed:
        signs = stream("fed", number, self.case.seed)
        values = []
        for value in self.feed.values:
            moved = value * (1.0 + EPS[dtype] * signs.choice([-1.0, 1.0], value.shape)) if number and _floats(value) else value
            values.append(rounded(moved, dtype).astype(np.float64) if _floats(value) else value)
        return replace(self.feed, values=values)


def _floats(array: np.ndarray) -> bool:
    return array.dtype.kind == "f"


def _summed(reference: Passed, sites: Sequence[Site]) -> np.ndarray | None:
    found = [reference.gradients[site] for site in sites if site in reference.gradients]
    return np.asarray(np.sum(found, axis=0)) if found else None
