"""The check: draws, verdict, planted mistakes, and of what failed the first module that is wrong by itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..columns.ending import TIMEOUT
from ..errors import ConfigError
from ..printable import listed
from .bisection import bisect as bisect_modules
from .exactness import exactness
from .inputs import Given, Sizes
from .judging import judge
from .limits import Figure, worst_figures
from .optimizers import Optimizer
from .report import SHOWN, Report
from .sensitivity import planted, steady
from .session import PRECISIONS, Session, opened
from .stepping import judge_steps
from .subjects import Subject
from .weight_map import WeightMap


def check(
    reference: Subject,
    candidate: Subject,
    *,
    weights: Mapping[str, Any] | WeightMap | None = None,
    inputs: Given,
    sizes: Sizes | None = None,
    gradients: bool = True,
    draws: int = 3,
    seed: int = 0,
    values: str = "drawn",
    precisions: tuple[str, ...] = PRECISIONS,
    dropout: str = "none",
    optimizer: Optimizer | None = None,
    sensitivity: bool = True,
    bisect: bool = True,
    timeout: float = TIMEOUT,
) -> Report:
    """Tell whether two layers, models or functions differ by rounding alone, and if not, where.

    Args:
        reference, candidate: subjects, each built in a process of its own.
        weights: by tensor of the reference what it is in the candidate's tensors: see ``weight_map``. None pairs equal names.
        inputs: by name what is drawn, such as ``floats("B", "T", 64)``, or an array. sizes: the numbers of its letters.
        gradients: compare the gradients of inputs and weights too, where both sides can be differentiated.
        draws: how many cases, each with new weights and inputs. seed: of the first.
        values: weights are ``drawn`` at random, or ``kept`` as the reference's factory makes them.
        precisions: ``float64`` proves that both are the same mathematics; ``float32`` is judged by what the reference loses.
        dropout: ``none`` evaluates; with ``same masks`` both train, and each dropout has the same mask on both sides.
        optimizer: such as ``adamw(1e-3)``: compare what each framework's own makes of the same gradients, in 1 and 10 steps.
        sensitivity: plant mistakes into this comparison, all of which must be noticed.
        bisect: look into the modules of what failed.
        timeout: seconds that an answer of a subject's process may take.
    Returns: the report; its ``verdict`` is ``passed`` where every output and gradient is within its limit, and every planted
    mistake that can matter was noticed.
    Raises: ConfigError, WeightMapError for what cannot be compared; WorkerError where a subject raises an error or ends.
    """
    if not isinstance(draws, int) or draws < 1:
        raise ConfigError(f"draws must be a whole number from 1 on, got {draws!r}.")
    begun = time.monotonic()
    with opened(
        reference,
        candidate,
        weights=weights,
        inputs=inputs,
        sizes=sizes,
        gradients=gradients,
        values=values,
        precisions=precisions,
        dropout=dropout,
        timeout=timeout,
    ) as session:
        figures: list[Figure] = []
        failed = None
        for number in range(draws):
            case = session.draw(seed + number)
            found = judge(session, case, number)
            if optimizer is not None:
                found += judge_steps(session, case, optimizer, number)
            figures += found
            if failed is None and not all(one.passed for one in found):
                failed = case
        same = failed is None
        tree = bisect_modules(session, failed, _failed_in(figures)) if bisect and failed is not None else None
        return Report(
            str(reference),
            str(candidate),
            draws,
            tuple(worst_figures(figures)),
            planted=tuple(planted(session, [session.draw(seed + n) for n in range(draws)])) if sensitivity and same else (),
            steady=steady(session, session.draw(seed)) if sensitivity and same else True,
            tree=tree,
            notes=(*_notes(session), *exactness(figures)),
            failed_case=failed,
            greetings={side.role: side.greeting for side in (session.reference, session.candidate)},
            seconds=time.monotonic() - begun,
        )


def _failed_in(figures: list[Figure]) -> str:
    """Return the dtype to look into modules in: float64 where that has failed by its own limits, since it says most."""
    failed = [one.rule or one.dtype for one in figures if not one.passed]
    return "float64" if "float64" in failed else failed[0]


def _notes(session: Session) -> list[str]:
    notes: dict[str, None] = {}
    for side in (session.reference, session.candidate):
        if not side.offers("float64"):
            notes[f"weaker: {side.subject.label} has no float64, so that the same mathematics is not proven"] = None
        if session.plan.gradients and not side.differentiates:
            notes[f"gradients are not compared: {side.subject.label} has none here"] = None
    if session.single:
        where = listed(list(session.single), SHOWN)
        notes[f"weaker: float64 runs compute in float32 in {where}, and are held to its limits there"] = None
    return list(notes)
