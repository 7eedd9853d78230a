"""Both sides asked about a proposed map: what their modules return in float64, with the same weights, is compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..columns.ending import TIMEOUT
from ..random_streams import stream
from .cases import drawn_weights
from .inputs import Given, Sizes, check_inputs, drawn, single
from .matching import Agreement, Proposal, propose
from .matching_choices import Entries
from .session import opened_sides
from .side import Passed, Side
from .subjects import Subject
from .weight_map import KEPT, weight_map

Arrays = Mapping[str, np.ndarray]


def match(
    reference: Subject,
    candidate: Subject,
    *,
    inputs: Given,
    sizes: Sizes | None = None,
    seed: int = 0,
    timeout: float = TIMEOUT,
) -> Proposal:
    """Propose the map of weights between two subjects, or say what is ambiguous.

    Args: as of ``check``. seed: of the weights and inputs by which both sides are asked.
    Returns: the proposal; printed, it is Python to paste.
    Raises: ConfigError for inputs without sizes; WorkerError where a subject raises an error or ends.
    """
    sizes = sizes or {}
    check_inputs(inputs, sizes)
    with opened_sides(reference, candidate, timeout) as (ours, theirs, pool):
        first = drawn(inputs, sizes, ("match", seed))
        for built in [pool.submit(side.build, "float64", first) for side in (ours, theirs)]:
            built.result()
        asked = _Asked(ours, theirs, inputs, sizes, seed)
        return propose(ours.names, theirs.names, (reference.kind, candidate.kind), asked.agreement)


class _Asked:
    """Runs of both sides; the reference's are kept, since its weights do not depend on the map."""

    def __init__(self, ours: Side, theirs: Side, inputs: Given, sizes: Sizes, seed: int):
        self.ours, self.theirs = ours, theirs
        self.inputs, self.sizes, self.seed = inputs, sizes, seed
        self.kept: dict[tuple[int, frozenset[str]], tuple[Arrays, Arrays, Passed]] = {}

    def agreement(self, entries: Entries, draws: int = 1) -> Agreement:
        """Run both with the tensors paired so, and what has no partner as it was made."""
        names, there = self.ours.names, self.theirs.names
        used = {name for entry in entries.values() for name in entry.names}
        given: dict[str, Any] = {name: entry.expression() for name, entry in entries.items()}
        given |= {name: KEPT for name in names if name not in entries}
        pairs = weight_map(given | {KEPT: [name for name in there if name not in used]}, names, there)
        partners = _partners(entries, self.ours.modules, self.theirs.modules)
        found = Agreement(0.0)
        for draw in range(draws):
            weights, inputs, passed = self._reference(draw, frozenset(entries), pairs.constants)
            other = self.theirs.record("float64", pairs.to_candidate(weights), inputs, 0, gradients=False)
            ended = [path for path in _ended(passed) if path in partners]
            differ = {
                way: {path: _nearest(passed, path, other, partners[path], way) for path in ended} for way in ("out", "in")
            }
            whole = _difference(_values(passed, ""), _values(other, ""))
            now = Agreement(whole, differ["out"], differ["in"])
            found = now if not draw or (found and not now) else found
        return found

    def _reference(self, draw: int, paired: frozenset[str], constants: Mapping[str, float]) -> tuple[Arrays, Arrays, Passed]:
        key = draw, paired
        if key not in self.kept:
            seed = ("match", self.seed, draw)
            weights = {name: value for name, value in _telling(self.ours.built, seed).items() if name in paired}
            weights |= {name: np.full(weights[name].shape, value) for name, value in constants.items()}
            inputs = drawn(self.inputs, self.sizes, seed)
            self.kept[key] = weights, inputs, self.ours.record("float64", weights, inputs, 0, gradients=False)
        return self.kept[key]


def _telling(built: Arrays, seed: object) -> dict[str, np.ndarray]:
    """Return random weights so large that no two of them have the same effect: with small ones all attention is uniform."""
    weights = drawn_weights(built, seed)
    for name, made in built.items():
        if made.ndim > 1:
            weights[name] = single(stream("telling", seed, name).standard_normal(made.shape) / np.sqrt(made.shape[-1]))
    return weights


def _partners(entries: Entries, ours: list[str], theirs: list[str]) -> dict[str, list[str]]:
    """Return by module of the reference the candidate's modules that hold the same tensors, and no others."""
    used = {name: set(entry.names) for name, entry in entries.items()}
    every = set().union(*used.values())

    def inside(path: str, names: Any) -> set[str]:
        return {name for name in names if not path or name.startswith(f"{path}.")}

    held = {path: inside(path, every) for path in theirs}
    found = {}
    for path in ours:
        names = inside(path, used)
        here = set().union(*(used[name] for name in names))
        elsewhere = set().union(*(used[name] for name in used if name not in names))
        partners = [other for other, tensors in held.items() if tensors == here]
        if here and partners and not here & elsewhere:
            found[path] = partners
    return found


def _ended(passed: Passed) -> list[str]:
    """Return the paths of the modules in the order in which their first calls ended."""
    return list(dict.fromkeys(site.path for site in passed.values if site.way == "out"))


def _values(passed: Passed, path: str, way: str = "out") -> list[np.ndarray]:
    """Return what a module returned, or was given, in each call; the whole is called once."""
    sites = {site: value for site, value in passed.values.items() if site.path == path and site.way == way}
    return [value for site, value in sites.items() if path or site.number == 0]


def _nearest(passed: Passed, path: str, other: Passed, partners: list[str], way: str) -> float:
    """Return how much a module's outputs, or inputs, differ from those of the most alike of its partners."""
    found = [_difference(_values(passed, path, way), _values(other, partner, way)) for partner in partners]
    return float(np.min(found)) if found else float(np.inf)


def _difference(ours: list[np.ndarray], theirs: list[np.ndarray]) -> float:
    """Return the largest relative difference; infinite where nothing can be compared."""
    pairs = list(zip(ours, theirs, strict=False))
    if not pairs or len(ours) != len(theirs) or any(one.shape != other.shape for one, other in pairs):
        return float(np.inf)
    errors = [np.linalg.norm(one - other) / (float(np.linalg.norm(one)) or 1e-30) for one, other in pairs]
    return float(np.max(errors)) if np.isfinite(errors).all() else float(np.inf)
