"""What no trained model has in its tensors, one sentence each: an inspection says all of it, a port what is not finite."""

from __future__ import annotations

import numpy as np

from .model import Arrays


def odd_numbers(arrays: Arrays) -> list[str]:
    odd = []
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            odd.append(f"{name} holds {array.dtype.name}, no fractions.")
        elif array.size and not array.any() and array.ndim > 1:
            odd.append(f"{name} is zero throughout.")
    return [*odd, *not_finite(arrays)]


def not_finite(arrays: Arrays) -> list[str]:
    """Also where no batch comes by: the vector of a token that the proof does not hold, for one."""
    counts = {name: int((~np.isfinite(array)).sum()) for name, array in arrays.items() if array.dtype.kind == "f"}
    return [
        f"{name} holds {count} {'number that is' if count == 1 else 'numbers that are'} not finite."
        for name, count in counts.items()
        if count
    ]
