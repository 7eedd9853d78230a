"""The verdict on optimizers: what they make of the same weights and gradients, judged as the change of the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..parity.computing.messages import EPS
from ..parity.verdict.limits import CAPS, NONE, PERTURBED_COPIES, TIMES, ByArray, Errors, worst_by_array
from ..random_streams import stream
from ..rounding import rounded
from .cases import Case
from .inputs import single
from .limits import TIMES_OWN, Figure, Yardstick, judged, measured
from .optimizers import Optimizer
from .session import Session

STEPS = (1, 10)
# What a last place of the numbers in a factory moves is not known: it counts as what the cap of gradients allows.
UNKNOWN = Errors(*(CAPS["gradients"] * times / TIMES_OWN for times in TIMES.values()))
Gradients = list[dict[str, np.ndarray]]
Changes = Mapping[str, np.ndarray]


def judge_steps(session: Session, case: Case, optimizer: Optimizer, draw: int = 0) -> list[Figure]:
    """Take the steps by both sides in all precisions, and judge how each weight has changed."""
    gradients = _drawn(session, case)
    figures: list[Figure] = []
    exact = _changes(session, case, optimizer, session.truth, gradients)
    for dtype in session.dtypes:
        got = _by_candidate(session, case, optimizer, dtype, gradients)
        yardstick = _yardstick(session, case, optimizer, dtype, gradients, exact)
        for steps in STEPS:
            off = measured("gradients", _after(got, steps), _after(exact, steps))
            figures += judged("gradients", dtype, off, _part(yardstick, steps), draw)
    return figures


def _drawn(session: Session, case: Case) -> Gradients:
    """Draw gradients of many sizes, as those of a model are."""
    trained = [name for name in session.map.pairs if name in case.weights]
    gradients = []
    for step in range(max(STEPS)):
        random = {name: stream("step", case.seed, step, name) for name in trained}
        gradients.append({name: single(random[name].standard_normal(case.weights[name].shape) * 1e-2) for name in trained})
    return gradients


def _named(step: int, name: str) -> str:
    return f"update of {name} after {step} step{'' if step == 1 else 's'}"


def _after(changes: Changes, steps: int) -> dict[str, np.ndarray]:
    ending = _named(steps, "")[len("update of ") :]
    return {name: value for name, value in changes.items() if name.endswith(ending)}


def _part(yardstick: Yardstick, steps: int) -> Yardstick:
    names = _after({name: np.empty(0) for name in (*yardstick.own, *yardstick.moved)}, steps)
    every = (yardstick.own, yardstick.moved, yardstick.rounding)
    return Yardstick(*({name: one for name, one in each.items() if name in names} for each in every))


def _changes(session: Session, case: Case, optimizer: Optimizer, dtype: str, gradients: Gradients) -> Changes:
    found = session.reference.steps(dtype, case.weights, case.inputs, optimizer, gradients, STEPS)
    return {_named(n, name): value - case.weights[name] for n, weights in found.items() for name, value in weights.items()}


def _by_candidate(session: Session, case: Case, optimizer: Optimizer, dtype: str, gradients: Gradients) -> Changes:
    """Give the candidate the gradients of its own weights: by the chain rule, which a factor enters twice."""
    scales = {name: pair.factors**2 for name, pair in session.map.pairs.items()}
    given = [session.map.to_candidate({name: value * scales[name] for name, value in step.items()}) for step in gradients]
    before = session.map.to_candidate(case.weights)
    found = session.candidate.steps(dtype, before, case.inputs, optimizer, given, STEPS)
    changes = {}
    for n, weights in found.items():
        moved = {name: (weights[name] - before[name]) for name in weights}
        for name, value in session.map.from_candidate(moved).items():
            changes[_named(n, name)] = value
    return changes


def _yardstick(
    session: Session, case: Case, optimizer: Optimizer, dtype: str, gradients: Gradients, exact: Changes
) -> Yardstick:
    """Measure what the reference loses on gradients that are off by a last place, and how far these move the exact steps."""
    own, moved = [], []
    for number in range(PERTURBED_COPIES + 1):
        given = gradients if number == 0 else [_off(step, dtype, number) for step in gradients]
        near = optimizer if number == 0 else _near(optimizer, dtype, number)
        truth = exact if number == 0 else _changes(session, case, near, session.truth, given)
        if number:
            moved.append(measured("gradients", truth, exact))
        if dtype != session.truth:
            own.append(measured("gradients", _changes(session, case, near, dtype, given), truth))
    least = dict.fromkeys(exact, UNKNOWN if optimizer.factories and dtype != "float64" else NONE)
    every = [*moved, least, _corrected(optimizer, exact) if dtype == "float32" else least]
    return Yardstick(worst_by_array(own) if own else {}, worst_by_array(every), _rounding(case, dtype, exact))


def _corrected(optimizer: Optimizer, exact: Changes) -> ByArray:
    """Measure what float32 may lose in Adam's bias correction, whatever the number of steps.

    1 - beta of a Python number may be exact where beta^t is not: beta is off by u = 2^-25, half a last place, its power by t u
    and rounded to another u. Of 1 - beta^t, about t (1 - beta), that is 2 u / (1 - beta), and half of it in the root.
    """
    u = EPS["float32"] / 4
    shares = [2 * u / (1.0 - optimizer.options.get("beta1", -np.inf)), u / (1.0 - optimizer.options.get("beta2", -np.inf))]
    return measured("gradients", {name: one * (1.0 + sum(shares) / TIMES_OWN) for name, one in exact.items()}, exact)


def _near(optimizer: Optimizer, dtype: str, number: int) -> Optimizer:
    """Return it with each of its numbers off by a last place, of which 1 - 0.999 keeps few: formats of two bytes have none."""
    signs = stream("optimizer", number)
    eps = EPS["float64" if dtype == "float64" else "float32"]
    options = {name: value * (1.0 + eps * float(signs.choice([-1.0, 1.0]))) for name, value in optimizer.options.items()}
    return replace(optimizer, options=options)


def _rounding(case: Case, dtype: str, exact: Changes) -> ByArray:
    """Measure what storing the weights in the dtype, at each step, takes from their changes, which are small beside them."""
    stored = {}
    for part, change in exact.items():
        name, _, steps = part.removeprefix("update of ").rpartition(" after ")
        after = case.weights[name] + change
        stored[part] = change + int(steps.split()[0]) * (rounded(after, dtype).astype(np.float64) - after)
    return measured("gradients", stored, exact)


def _off(step: dict[str, np.ndarray], dtype: str, number: int) -> dict[str, np.ndarray]:
    moved = {}
    for name, value in step.items():
        signs = stream("step", number, name).choice([-1.0, 1.0], value.shape)
        moved[name] = rounded(value * (1.0 + EPS[dtype] * signs), dtype).astype(np.float64)
    return moved
