"""The activations, their derivatives, and the error function that NumPy lacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .framework import Layer
from .rounding import RoundedArray, rounded_array

# W. J. Cody, Rational Chebyshev approximations for the error function, Mathematics of Computation 23 (1969), 631-637.
# Highest power first. erf(x) = x P(x^2) / Q(x^2) up to 0.46875; 1 - exp(-x^2) P(x) / Q(x) up to 4; beyond that
# 1 - exp(-x^2) / x (1 / sqrt(pi) - P(1/x^2) / (x^2 Q(1/x^2))).
NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
MIDDLE = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594e0,
        6.61191906371416295e1,
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
        3.29079923573345963e3,
        4.36261909014324716e3,
        3.43936767414372164e3,
        1.23033935480374942e3,
    ),
)
FAR = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242e0,
        1.87295284992346725e0,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)
ONE = 6.0  # erf(6) is 1 - 2e-17


def _ratio(x: np.ndarray, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> np.ndarray:
    """P(x) / Q(x) by Horner's scheme."""
    values = []
    for polynomial in coefficients:
        value = np.full_like(x, polynomial[0])
        for coefficient in polynomial[1:]:
            value *= x
            value += coefficient
        values.append(value)
    numerator, denominator = values
    return np.divide(numerator, denominator, out=numerator)


def erf(x: np.ndarray) -> np.ndarray:
    """The error function to the precision of the dtype; each element is computed by the one formula of its range."""
    if isinstance(x, RoundedArray):  # one operation, as exp is: only its result is rounded
        return rounded_array(erf(x.view(np.ndarray)), x.to)
    size = np.abs(x).reshape(-1)
    result = np.minimum(size, 1.0)  # what stands from ONE on
    near, far = size <= 0.46875, size > 4.0
    for formula, chosen in ((_middle, ~(near | far)), (_near, near), (_far, far & (size < ONE))):
        places = np.flatnonzero(chosen)
        result[places] = formula(size[places])
    return np.copysign(result.reshape(x.shape), x)


def _near(size: np.ndarray) -> np.ndarray:
    return size * _ratio(size * size, NEAR)


def _middle(size: np.ndarray) -> np.ndarray:
    return 1.0 - np.exp(-size * size) * _ratio(size, MIDDLE)


def _far(size: np.ndarray) -> np.ndarray:
    inverse = 1.0 / (size * size)
    return 1.0 - np.exp(-size * size) / size * (1.0 / math.sqrt(math.pi) - inverse * _ratio(inverse, FAR))


# Each activation gives its value and what its slope is computed from.


def _relu(X: np.ndarray) -> tuple[np.ndarray, ...]:
    Y = np.maximum(X, 0.0)
    return Y, Y


def _relu_slope(Y: np.ndarray) -> np.ndarray:
    return Y > 0.0


def _gelu(X: np.ndarray) -> tuple[np.ndarray, ...]:
    below = 0.5 * (1.0 + erf(X * math.sqrt(0.5)))  # the share of a normal distribution below X
    return X * below, X, below


def _gelu_slope(X: np.ndarray, below: np.ndarray) -> np.ndarray:
    return below + X * np.exp(-0.5 * X * X) * (1.0 / math.sqrt(2.0 * math.pi))


GELU_TANH_RATE, GELU_TANH_CUBE = math.sqrt(2.0 / math.pi), 0.044715  # Hendrycks & Gimpel 2016


def _gelu_tanh(X: np.ndarray) -> tuple[np.ndarray, ...]:
    bend = np.tanh(GELU_TANH_RATE * (X + GELU_TANH_CUBE * X * X * X))
    return 0.5 * X * (1.0 + bend), X, bend


def _gelu_tanh_slope(X: np.ndarray, bend: np.ndarray) -> np.ndarray:
    inner = GELU_TANH_RATE * (1.0 + 3.0 * GELU_TANH_CUBE * X * X)
    return 0.5 * (1.0 + bend) + 0.5 * X * (1.0 - bend * bend) * inner


def _silu(X: np.ndarray) -> tuple[np.ndarray, ...]:
    small = np.exp(-np.abs(X))  # never overflows
    sigmoid = np.maximum(small, X >= 0.0)  # 1 there; np.where takes as long as all the rest
    small += 1.0
    sigmoid /= small
    return X * sigmoid, X, sigmoid


def _silu_slope(X: np.ndarray, sigmoid: np.ndarray) -> np.ndarray:
    return sigmoid * (1.0 + X * (1.0 - sigmoid))


ACTIVATIONS: dict[str, tuple[Callable[..., Any], Callable[..., np.ndarray]]] = {
    "relu": (_relu, _relu_slope),
    "gelu": (_gelu, _gelu_slope),
    "gelu_tanh": (_gelu_tanh, _gelu_tanh_slope),
    "silu": (_silu, _silu_slope),
}


class Activation(Layer):
    def __init__(self, name: str):
        self.name = name
        self.value, self.slope = ACTIVATIONS[name]

    def forward(self, X: np.ndarray) -> np.ndarray:
        Y, *saved = self.value(X)
        self.remember(*saved)
        return Y

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        return gradient * self.slope(*self.recall())
