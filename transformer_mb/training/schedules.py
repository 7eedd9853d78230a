"""Learning rate schedules: pure functions of the step, the first step being 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


class Span(NamedTuple):
    """The values that a schedule may depend on besides the step."""

    warmup_steps: int
    total_steps: int
    num_hiddens: int
    lowered: float = 1.0  # what plateau has come to


def constant(step: int, span: Span) -> float:
    """1 after a linear warm-up (none with ``warmup_steps`` 0)."""
    return _warmup(step, span)


def linear(step: int, span: Span) -> float:
    """A linear warm-up, then linearly down to 0, which the step after the last would have."""
    return min(_warmup(step, span), _left(step, span))


def cosine(step: int, span: Span) -> float:
    """A linear warm-up, then half a cosine down to 0, which the step after the last would have (Loshchilov & Hutter 2017)."""
    return min(_warmup(step, span), 0.5 - 0.5 * math.cos(math.pi * _left(step, span)))


def inverse_square_root(step: int, span: Span) -> float:
    """A linear warm-up to 1 at ``warmup_steps``, then 1/sqrt(step) from there: ``vaswani`` with its peak scaled to 1."""
    peak = max(1, span.warmup_steps)
    return min(step / peak, (peak / step) ** 0.5)


def vaswani(step: int, span: Span) -> float:
    """D^-0.5 * min(step^-0.5, step * warmup_steps^-1.5): Vaswani et al. 2017, section 5.3, equation 3.

    The recipe's ``learning_rate`` is a factor in front, 1 in the paper.
    """
    return span.num_hiddens**-0.5 * min(step**-0.5, step * max(1, span.warmup_steps) ** -1.5)


def plateau(step: int, span: Span) -> float:
    """A linear warm-up to 1, lowered by a factor each time the validations have not got better for long."""
    return _warmup(step, span) * span.lowered


def _warmup(step: int, span: Span) -> float:
    return min(1.0, step / max(1, span.warmup_steps))


def _left(step: int, span: Span) -> float:
    """Return the share of what follows the warm-up that is still to come: 1 at its end, 0 at the step after the last."""
    left = (span.total_steps + 1 - step) / max(1, span.total_steps + 1 - span.warmup_steps)
    return min(1.0, max(0.0, left))


SCHEDULES: dict[str, Callable[[int, Span], float]] = {
    schedule.__name__: schedule for schedule in (constant, linear, cosine, inverse_square_root, vaswani, plateau)
}
WITH_END = ("linear", "cosine")  # those whose rate depends on how many steps there are in all
