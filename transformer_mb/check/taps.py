"""Looks into a running model: what every module takes and returns, recorded, shifted or exchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from . import nesting
from .adapters.adapter import Adapter, Tap
from .eight_bits import on_grid

NUMBERS = "numbers"


class Site(NamedTuple):
    """A place where an array enters or leaves a module.

    Args:
        path: of the module. number: of its call, from 0.
        way: ``in`` or ``out`` of floats, ``numbers`` of whole numbers that enter, as positions do.
        place: of the array among those of the call.
    """

    path: str
    number: int
    way: str
    place: int


Change = Callable[[Site, Any], Any]


class Sites(Tap):
    """A tap that calls ``change`` with each array that has a site, in the order of the run."""

    def __init__(self, adapter: Adapter, change: Change):
        self.adapter, self.change = adapter, change
        self.calls: Counter[str] = Counter()
        self.open: dict[str, list[int]] = {}

    def enter(self, path: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        number = self.calls[path]
        self.calls[path] += 1
        self.open.setdefault(path, []).append(number)
        given, named = self._changed((tuple(arguments), dict(keywords)), path, number, "in")
        return given, named

    def leave(self, path: str, output: Any) -> Any:
        return self._changed(output, path, self.open[path].pop(), "out")

    def _changed(self, tree: Any, path: str, number: int, way: str) -> Any:
        places: Counter[str] = Counter()

        def one(_: str, leaf: Any) -> Any:
            kind = way if self.adapter.is_float(leaf) else NUMBERS if way == "in" and self.adapter.is_whole(leaf) else None
            if kind is None:
                return leaf
            places[kind] += 1
            return self.change(Site(path, number, kind, places[kind] - 1), leaf)

        return nesting.changed(tree, one)


class Recorded(Sites):
    """A tap that keeps what passes, as it is."""

    def __init__(self, adapter: Adapter) -> None:
        self.values: dict[Site, Any] = {}
        super().__init__(adapter, self._keep)

    def _keep(self, site: Site, leaf: Any) -> Any:
        self.values[site] = leaf
        return leaf


class Shifted(Sites):
    """A tap that adds an array at each site: the gradient of a zero that is added is the gradient of what it is added to."""

    def __init__(self, adapter: Adapter, shifts: dict[Site, Any]):
        super().__init__(adapter, lambda site, leaf: leaf + shifts[site] if site in shifts else leaf)


class InEightBits(Sites):
    """A tap that rounds what enters each module that holds a matrix to whole numbers of eight bits."""

    def __init__(self, adapter: Adapter):
        holders = {name.rpartition(".")[0] for name, value in adapter.weights().items() if value.ndim > 1}

        def rounded(site: Site, leaf: Any) -> Any:
            if site.way != "in" or site.path not in holders:
                return leaf
            array = adapter.numpy(leaf)
            return leaf if array is None else adapter.array(on_grid(array))

        super().__init__(adapter, rounded)


class Exchanged(Sites):
    """A tap that keeps what each module computes by itself, and hands on what it is given in its place."""

    def __init__(self, adapter: Adapter, given: dict[Site, Any]):
        self.own: dict[Site, Any] = {}
        self.given = given
        super().__init__(adapter, self._exchange)

    def _exchange(self, site: Site, leaf: Any) -> Any:
        self.own[site] = leaf
        return self.given.get(site, leaf)
