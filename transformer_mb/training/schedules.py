"""Learning rate schedules: pure functions of the step, the first step being 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Span(NamedTuple):
    """What a schedule may depend on besides the step."""

    warmup_steps: int
    total_steps: int
    num_hiddens: int


def constant(step: int, span: Span) -> float:
    """1 after a linear warm-up (none with ``warmup_steps`` 0)."""
    return _warmup(step, span)


def linear(step: int, span: Span) -> float:
    """A linear warm-up, then linearly down to 0, which the step after the last would have."""
    left = span.total_steps + 1 - step
    return min(_warmup(step, span), max(0.0, left / max(1, span.total_steps + 1 - span.warmup_steps)))


def inverse_square_root(step: int, span: Span) -> float:
    """A linear warm-up to 1 at ``warmup_steps``, then 1/sqrt(step) from there: ``vaswani`` with its peak scaled to 1."""
    peak = max(1, span.warmup_steps)
    return min(step / peak, (peak / step) ** 0.5)


def vaswani(step: int, span: Span) -> float:
    """D^-0.5 * min(step^-0.5, step * warmup_steps^-1.5): Vaswani et al. 2017, section 5.3, equation 3.

    The recipe's ``learning_rate`` is a factor in front, 1 in the paper.
    """
    return span.num_hiddens**-0.5 * min(step**-0.5, step * max(1, span.warmup_steps) ** -1.5)


def _warmup(step: int, span: Span) -> float:
    return min(1.0, step / max(1, span.warmup_steps))


SCHEDULES: dict[str, Callable[[int, Span], float]] = {
    schedule.__name__: schedule for schedule in (constant, linear, inverse_square_root, vaswani)
}
