"""Noise: which side has more of it, and which is more exact than its format explains."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..parity.computing.messages import EPS
from ..parity.verdict.limits import FLOOR_EPS
from .limits import TIMES_OWN, Figure

ONCE = 1.1  # times the error of the exact result rounded: what is rounded once has no more
OFTEN = 3.0  # times it: what is rounded at every step has


def exactness(figures: Sequence[Figure]) -> list[str]:
    """Say in notes what the errors tell beside the verdict, of the outputs in formats that round."""
    rounded = [one for one in figures if one.kind == "outputs" and one.dtype != "float64"]
    notes = []
    for words, tells in (NOISY, OVER_PRECISE):
        found = next((one for one in rounded if tells(one)), None)
        if found is not None:
            notes.append(words.format(one=found, times=found.own / max(_explained(found), 1e-300)))
    return notes


def _explained(one: Figure) -> float:
    """Return what the inputs' last place, or the format itself, explains."""
    return max(one.moved, FLOOR_EPS * EPS[one.dtype])


def _is_noisy(one: Figure) -> bool:
    return one.own > TIMES_OWN * _explained(one)


def _is_over_precise(one: Figure) -> bool:
    return 0.0 < one.error <= ONCE * one.rounding and one.own >= OFTEN * one.rounding


Note = tuple[str, Callable[[Figure], bool]]
NOISY: Note = (
    "the reference is the noisy side: it loses {one.own:.1e} in {one.dtype} ({one.part}), "
    "{times:.2g}x what its inputs and its format explain",
    _is_noisy,
)
OVER_PRECISE: Note = (
    "the candidate is more exact than {one.dtype} explains ({one.part}: {one.error:.1e}, the reference {one.own:.1e}): "
    "it skips roundings that the reference makes",
    _is_over_precise,
)
