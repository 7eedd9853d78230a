"""Adam's two decay rates and its step count from their powers, which is all that Paddle keeps of them.

After n steps a file holds beta1 and beta2 to the power of n + 1, multiplied up in the file's own dtype. Rates that people
choose are round numbers, so that few pairs of them fit both powers with one count.
"""

from __future__ import annotations

import numpy as np

USUAL = (0.9, 0.999)
FULL = 100  # times the smallest normal number, from where on a power has all of its digits
MOST_STEPS = 100_000  # beyond these a power no longer changes
# Rates of the mean of squares that are looked for where beta1's power has become too small to tell.
BETA2 = (0.999, 0.98, 0.99, 0.997, 0.998, 0.995, 0.95, 0.96, 0.97, 0.9, 0.9995, 0.9997, 0.9998, 0.9999)
DIGITS = {"beta1": 2, "beta2": 4}  # of a round number


def powers_after(step: int, beta: float) -> np.ndarray:
    """[1] float32: what Paddle itself has after ``step`` steps."""
    return _powers(beta, np.float32, min(step + 1, MOST_STEPS))[-1:]


def inferred(powers: tuple[np.ndarray, np.ndarray], given: tuple[float, float] | None) -> tuple[int, tuple[float, float]] | str:
    """The steps taken and the two rates; or, where they cannot be told, why.

    ``powers``: of beta1 and of beta2, one number each. ``given``: the rates, where the settings say them.
    """
    first, second = (float(power.reshape(())) for power in powers)
    if not (0.0 <= first < 1.0 and 0.0 <= second < 1.0):
        return f"the powers of beta1 and beta2 must lie between 0 and 1, got {first:.3g} and {second:.3g}"
    dtype = powers[1].dtype
    if second < FULL * np.finfo(powers[1].dtype).tiny:
        return f"beta2's power has become too small to tell the steps, got {second:.3g}"
    usable = beta1_shows(powers)
    if given is not None:
        count = _count(given[1], second, dtype)
        fits = count is not None and (_fits(given[0], first, count, powers[0].dtype) if usable else True)
        return (
            (count, given)
            if fits and count is not None
            else (f"no number of steps makes {first:.4g} of beta1 = {given[0]} and {second:.4g} of beta2 = {given[1]}")
        )
    pairs = _both(first, second, dtype) if usable else _by_second(second, dtype)
    if len(pairs) == 1:
        return pairs[0]
    found = " or ".join(f"{step} steps of {rates}" for step, rates in pairs[:3]) or "no round numbers"
    return (
        f"the powers {first:.4g} and {second:.4g} are those of {found}: say the rates as betas in the settings (config), such "
        'as {"betas": [0.9, 0.98]}'
    )


def beta1_shows(powers: tuple[np.ndarray, np.ndarray]) -> bool:
    """Tell whether beta1's power is still a number of full precision."""
    return float(powers[0].reshape(())) > FULL * float(np.finfo(powers[0].dtype).tiny)


def _powers(beta: float, dtype: np.dtype | type, count: int) -> np.ndarray:
    """[count], beta to the power of 1, 2, ..., rounded after each product."""
    return np.multiply.accumulate(np.full(count, beta, np.dtype(dtype)), dtype=dtype)


def _count(beta: float, power: float, dtype: np.dtype) -> int | None:
    """The steps after which beta's power is this one, if any."""
    if not 0.0 < beta < 1.0:
        return None
    near = round(np.log(power) / np.log(beta))
    return next((n - 1 for n in (near, near - 1, near + 1) if 1 <= n <= MOST_STEPS and _fits(beta, power, n - 1, dtype)), None)


def _fits(beta: float, power: float, step: int, dtype: np.dtype) -> bool:
    """Tell whether it is that power, but for one rounding a step."""
    with np.errstate(under="ignore"):
        expected = beta ** (step + 1)
    return abs(power - expected) <= (step + 3) * 1.2e-7 * expected


def _both(first: float, second: float, dtype: np.dtype) -> list[tuple[int, tuple[float, float]]]:
    """All counts at which both rates are round; of a count and its divisors, whose rates are powers of these, the largest."""
    counts = np.arange(1, 2000)
    beta1, beta2 = (
        np.round(power ** (1 / counts), digits) for power, digits in zip((first, second), DIGITS.values(), strict=True)
    )
    pairs = [
        (int(n) - 1, (float(one), float(two)))
        for n, one, two in zip(counts, beta1, beta2, strict=True)
        if 0.0 < one < 1.0 and 0.0 < two < 1.0
        if _fits(float(one), first, int(n) - 1, dtype) and _fits(float(two), second, int(n) - 1, dtype)
    ]
    return [pair for pair in pairs if not any(other[0] > pair[0] and (other[0] + 1) % (pair[0] + 1) == 0 for other in pairs)]


def _by_second(power: float, dtype: np.dtype) -> list[tuple[int, tuple[float, float]]]:
    """Exactly this number among the powers of a usual rate: one in thousands is so by chance."""
    pairs = []
    for beta in BETA2:
        powers = _powers(beta, dtype, MOST_STEPS)
        places = np.flatnonzero(powers == np.asarray(power, dtype))
        if len(places) == 1:
            pairs.append((int(places[0]), (USUAL[0], beta)))
    return pairs
