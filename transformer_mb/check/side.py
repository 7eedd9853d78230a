"""A side of a comparison, seen from outside: its process, what it holds, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ..columns.column import Column
from ..columns.gateway import Gateway
from ..columns.messages import pack_arrays, unpack_arrays
from ..errors import WorkerError
from .optimizers import Optimizer
from .subjects import Subject, kept_programs, search_path
from .taps import Site

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Answer:
    """The answer of a subject.

    Args:
        outputs: by path in the nesting that it returned, ``output`` where that is one array.
        dtypes: of the outputs, as the framework names them.
        input_gradients, weight_gradients: of the sum of outputs times cotangents, each of the shape of its array; empty
            where none were asked for.
        changed: inputs that the subject has written into. moved: weights that it has changed by computing.
        dropped: the shape and the rate of each dropout, where masks were given.
        overwritten: outputs of the call before, whose numbers have changed since.
    """

    outputs: dict[str, np.ndarray]
    dtypes: dict[str, str] = field(default_factory=dict)
    input_gradients: dict[str, np.ndarray] = field(default_factory=dict)
    weight_gradients: dict[str, np.ndarray] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    dropped: tuple[tuple[list[int], float], ...] = ()
    overwritten: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()


@dataclass(frozen=True)
class Passed:
    """The values at the sites of a run, and where they were asked for gradients."""

    values: dict[Site, np.ndarray]
    gradients: dict[Site, np.ndarray]


class Side:
    """A subject in its process.

    Attributes:
        greeting: what the process said of itself: versions, dtypes, whether it differentiates.
        built: its tensors as its factory made them; modules: the paths of its modules, that of the whole (empty) first.
    """

    def __init__(self, subject: Subject, role: str, folder: Path, timeout: float, on_process: Callable[[Gateway], None]):
        subject.require()
        self.subject, self.role = subject, role
        column = Column(f"{subject.kind}@{role}", subject.settings.get("python"))
        arguments = (subject.to_dict(), search_path(), kept_programs(subject))
        self.gateway = column.open(f"{__package__}.worker", arguments, folder, timeout, on_process=on_process)
        self.greeting: dict[str, Any] = json.loads(self.gateway.greeting[0])
        self.built: dict[str, np.ndarray] = {}
        self.modules: list[str] = []
        self.same_masks = False  # for its dropout as the other side's, by the seed of each case
        self._lock = Lock()

    @property
    def names(self) -> dict[str, tuple[int, ...]]:
        """The shapes of its tensors."""
        return {name: value.shape for name, value in self.built.items()}

    def offers(self, dtype: str) -> bool:
        return dtype in self.greeting["dtypes"]

    @property
    def differentiates(self) -> bool:
        return bool(self.greeting["gradients"])

    def stop(self) -> None:
        self.gateway.stop()

    def ask(self, what: str, facts: Mapping[str, Any], arrays: Arrays) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Ask the process. Raises WorkerError with what the subject raised, or how the process ended."""
        with self._lock:
            self.gateway.send((json.dumps([what, facts, list(arrays)]), pack_arrays(arrays)))
            text, data = self.gateway.receive()
        answer, order = json.loads(text)
        if "error" in answer:
            raise WorkerError(f"The {self.role}, {self.subject}, raised {answer['error'].removesuffix('.')}.")
        return answer, in_order(unpack_arrays(data), order)

    def build(self, dtype: str, inputs: Arrays) -> None:
        """Make the subject, which may need a first call for that, and learn what it holds."""
        facts, self.built = self.ask("build", {"dtype": dtype}, named("input", inputs))
        self.modules = facts["modules"]

    def _facts(self, dtype: str, gradients: bool, seed: int) -> dict[str, Any]:
        return {"dtype": dtype, "gradients": gradients, "seed": seed, "dropout": seed if self.same_masks else None}

    def run(
        self, dtype: str, weights: Arrays, inputs: Arrays, seed: int, gradients: bool = True, eight_bits: bool = False
    ) -> Answer:
        """Compute outputs and gradients; ``seed`` draws the cotangents.

        ``eight_bits`` rounds what enters each module that holds a matrix.
        """
        given = named("weight", weights) | named("input", inputs)
        facts, arrays = self.ask("run", {**self._facts(dtype, gradients, seed), "eight_bits": eight_bits}, given)
        parts = {name: under(name, arrays) for name in ("output", "of input", "of weight")}
        return Answer(
            parts["output"],
            facts["dtypes"],
            parts["of input"],
            parts["of weight"],
            tuple(facts["changed"]),
            tuple(map(tuple, facts["dropped"])),
            tuple(facts["overwritten"]),
            tuple(facts["moved"]),
        )

    def record(self, dtype: str, weights: Arrays, inputs: Arrays, seed: int, gradients: bool = True) -> Passed:
        """Return what passes at each site of each module."""
        given = named("weight", weights) | named("input", inputs)
        facts, arrays = self.ask("record", self._facts(dtype, gradients, seed), given)
        sites = [Site(*site) for site in facts["sites"]]
        values, found = under("value", arrays), under("gradient", arrays)
        return Passed(_by_site(sites, values), _by_site(sites, found))

    def exchange(
        self,
        dtype: str,
        weights: Arrays,
        inputs: Arrays,
        given: Mapping[Site, np.ndarray],
        cotangents: Mapping[Site, np.ndarray],
        seed: int,
    ) -> tuple[Passed, dict[str, np.ndarray]]:
        """Return what each module computes by itself, and the gradients of weights: see ``worker``."""
        sites = list(given)
        arrays = named("weight", weights) | named("input", inputs)
        arrays |= {f"value.{number}": given[site] for number, site in enumerate(sites)}
        arrays |= {f"cotangent.{number}": cotangents[site] for number, site in enumerate(sites) if site in cotangents}
        _, found = self.ask("exchange", {**self._facts(dtype, bool(cotangents), seed), "sites": sites}, arrays)
        passed = Passed(_by_site(sites, under("own", found)), _by_site(sites, under("gradient", found)))
        return passed, under("of weight", found)

    def steps(
        self,
        dtype: str,
        weights: Arrays,
        inputs: Arrays,
        optimizer: Optimizer,
        gradients: Sequence[Arrays],
        after: Sequence[int],
    ) -> dict[int, dict[str, np.ndarray]]:
        """Return the weights after so many steps of an optimizer, from gradients that are given for each."""
        arrays = named("weight", weights) | named("input", inputs)
        for number, step in enumerate(gradients):
            arrays |= named(f"gradient.{number}", step)
        _, found = self.ask("steps", {"dtype": dtype, "optimizer": optimizer.of(self.role), "after": list(after)}, arrays)
        return {number: under(f"after.{number}", found) for number in after}


def in_order(arrays: Arrays, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return arrays in the order in which they were sent: a message gives them back in any."""
    return {name: arrays[name] for name in names}


def named(prefix: str, arrays: Arrays) -> dict[str, np.ndarray]:
    return {f"{prefix}.{name}": value for name, value in arrays.items()}


def under(prefix: str, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the arrays whose name starts with ``prefix.``, by the rest of their name."""
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in arrays.items() if name.startswith(start)}


def _by_site(sites: list[Site], arrays: Arrays) -> dict[Site, np.ndarray]:
    return {site: arrays[str(number)] for number, site in enumerate(sites) if str(number) in arrays}
