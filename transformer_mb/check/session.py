"""Both sides alive in their processes, their weights paired: cases are drawn, computed and judged."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..columns.ending import TIMEOUT
from ..columns.gateway import Gateway, require_execnet
from ..errors import ConfigError
from .cases import Case, drawn_weights
from .eight_bits import INT8
from .inputs import Given, Sizes, check_inputs, drawn
from .side import Answer, Side
from .subjects import Subject
from .weight_map import WeightMap, weight_map

Result = TypeVar("Result")
VALUES = ("drawn", "kept")
DROPOUT = ("none", "same masks")
PRECISIONS = ("float64", "float32")


@dataclass(frozen=True)
class Plan:
    """The request for a comparison.

    Args:
        weights: the weight map as the user wrote it; None pairs equal names.
        inputs, sizes: what is drawn, and the numbers that its letters stand for.
        gradients: compare those of inputs and weights too.
        values: weights are ``drawn`` at random, or ``kept`` as the reference's factory makes them.
        precisions: dtypes of the runs; float64 proves that both are the same mathematics.
        dropout: ``none`` evaluates; with ``same masks`` both train, and drop the same numbers.
    Raises: ConfigError for what is none of these.
    """

    weights: Mapping[str, Any] | WeightMap | None
    inputs: Given
    sizes: Sizes
    gradients: bool = True
    values: str = "drawn"
    precisions: tuple[str, ...] = PRECISIONS
    dropout: str = "none"

    def __post_init__(self) -> None:
        check_inputs(self.inputs, self.sizes)
        if self.values not in VALUES:
            raise ConfigError(f"values must be one of {', '.join(VALUES)}, got {self.values!r}.")
        if self.dropout not in DROPOUT:
            raise ConfigError(f"dropout must be one of {', '.join(DROPOUT)}, got {self.dropout!r}.")
        if not self.precisions or not set(self.precisions) <= set(PRECISIONS):
            raise ConfigError(f"precisions must be some of {', '.join(PRECISIONS)}, got {self.precisions!r}.")


class Session:
    """Two sides that compute the same cases.

    Attributes:
        reference, candidate: the sides. map: their weights paired.
        dtypes: of the runs that are judged. truth: the dtype of what counts as exact: float64 where the reference offers it.
        gradients: whether gradients are compared: both sides can be differentiated, and the request asks for it.
        rules: by dtype of a run the one whose limits hold for the whole, once modules inside were found to compute in that.
        single: the names of these modules, in the order in which they were found.
    """

    def __init__(self, plan: Plan, reference: Side, candidate: Side, pool: ThreadPoolExecutor):
        self.plan, self.reference, self.candidate, self.pool = plan, reference, candidate, pool
        self.truth = "float64" if reference.offers("float64") else "float32"
        self.gradients = plan.gradients and reference.differentiates and candidate.differentiates
        self.rules: dict[str, str] = {}
        self.single: dict[str, None] = {}
        reference.same_masks = candidate.same_masks = plan.dropout == "same masks"
        first = drawn(plan.inputs, plan.sizes, "first")
        both = {side: self.first_dtype(side) for side in (reference, candidate)}
        self.at_once(*((lambda side=side, dtype=dtype: side.build(dtype, first)) for side, dtype in both.items()))
        self.map: WeightMap = weight_map(plan.weights, reference.names, candidate.names)
        formats = map(self.dtype_of, plan.precisions)
        self.dtypes = tuple(one for one in formats if candidate.offers(one) and (reference.offers(one) or one != "float64"))

    @staticmethod
    def first_dtype(side: Side) -> str:
        return "float64" if side.offers("float64") else str(side.greeting["dtypes"][0])

    def at_once(self, *works: Callable[[], Result]) -> list[Result]:
        """Do work of both processes at the same time."""
        answers = [self.pool.submit(work) for work in works]
        return [answer.result() for answer in answers]

    def draw(self, seed: int, plan: Plan | None = None) -> Case:
        """Return the case of a seed; of another plan, where it is given, for the same sides."""
        plan = plan or self.plan
        built = {name: value for name, value in self.reference.built.items() if name not in self.map.kept}
        weights = drawn_weights(built, seed) if plan.values == "drawn" else built
        constants = {name: np.full(self.map.shapes[name], value) for name, value in self.map.constants.items()}
        return Case({**weights, **constants}, drawn(plan.inputs, plan.sizes, seed), seed).rounded("float32")

    def dtype_of(self, precision: str) -> str:
        """Return the format of the runs of a precision: the candidate may have its own in the place of float32."""
        return str(self.candidate.subject.settings.get("dtype", precision)) if precision == "float32" else precision

    def by_reference(self, case: Case, dtype: str, gradients: bool | None = None) -> Answer:
        wanted = self.gradients if gradients is None else gradients
        if dtype == INT8:  # the reference itself with its matrices, and what they multiply, rounded so
            return self.reference.run("float32", case.rounded(INT8).weights, case.inputs, case.seed, False, eight_bits=True)
        return self.reference.run(dtype, case.weights, case.inputs, case.seed, wanted)

    def by_candidate(self, case: Case, dtype: str, gradients: bool | None = None) -> Answer:
        """Compute a case by the candidate; gradients of weights come back in the reference's arrangement."""
        wanted = dtype != INT8 and (self.gradients if gradients is None else gradients)
        answer = self.candidate.run(dtype, self.map.to_candidate(case.weights), case.inputs, case.seed, wanted)
        return replace(answer, weight_gradients=self.arranged(answer.weight_gradients))

    def arranged(self, gradients: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return gradients by the reference's names; zeros for a weight on which nothing depends."""
        if not gradients:
            return {}
        zeros = {name: np.zeros(shape) for name, shape in self.candidate.names.items()}
        return self.map.to_reference(zeros | dict(gradients))


@contextmanager
def opened(
    reference: Subject,
    candidate: Subject,
    *,
    weights: Mapping[str, Any] | WeightMap | None = None,
    inputs: Given,
    sizes: Sizes | None = None,
    gradients: bool = True,
    values: str = "drawn",
    precisions: tuple[str, ...] = PRECISIONS,
    dropout: str = "none",
    timeout: float = TIMEOUT,
) -> Iterator[Session]:
    """Open a session: both subjects are built, each in a process of its own, which ends with the ``with`` block.

    Args: see ``check``.
    Yields: the session, whose ``draw(seed)`` gives cases for ``judge`` and ``bisect``.
    Raises: ConfigError, WeightMapError for what cannot be compared; WorkerError where a subject could not be built.
    """
    plan = Plan(weights, inputs, sizes or {}, gradients, values, tuple(precisions), dropout)
    for role, subject in (("reference", reference), ("candidate", candidate)):
        if other := [name for name in subject.settings.get("call", [[]])[0] if name not in inputs]:
            raise ConfigError(
                f"The {role} is called with {', '.join(other)}, which must be one of the inputs {', '.join(inputs)}."
            )
    if dropout == "same masks":
        reference, candidate = reference.training(), candidate.training()
    with opened_sides(reference, candidate, timeout) as sides:
        yield Session(plan, *sides)


@contextmanager
def opened_sides(
    reference: Subject, candidate: Subject, timeout: float = TIMEOUT
) -> Iterator[tuple[Side, Side, ThreadPoolExecutor]]:
    """Give both processes, nothing built yet, and two threads to ask them at the same time."""
    require_execnet()
    begun: list[Gateway] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # A process ends with the thread that started it.
        pool = stack.enter_context(ThreadPoolExecutor(2))
        stack.callback(_killed, begun)

        def open_side(role: str, subject: Subject) -> Side:
            side = Side(subject, role, folder, timeout, begun.append)
            stack.callback(side.stop)
            return side

        starting = [pool.submit(open_side, *one) for one in (("reference", reference), ("candidate", candidate))]
        sides = [one.result() for one in starting]
        yield sides[0], sides[1], pool


def _killed(begun: list[Gateway]) -> None:
    for gateway in begun:
        gateway.kill()
