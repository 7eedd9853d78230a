"""Arithmetic whose every result is rounded to a format, to the nearest number or at random: what it loses, without hardware."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from transformer_mb.rounding import TF32_TOWARDS_ZERO, rounded, rounded_at_random
from transformer_mb.trees import map_leaves


class RoundedArray(np.ndarray):
    """An array whose every result is rounded; sums and products accumulate in the array's dtype first, as hardware does."""

    to: str
    safe_exponent = -1.0  # none: float16 ends at e^11, so a softmax always subtracts its maximum

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if out is not None:
            options["out"] = map_leaves(_plain, out)
        return self._rounded(getattr(ufunc, method)(*map_leaves(_plain, inputs), **options), out)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._rounded(function(*map_leaves(_plain, args), **map_leaves(_plain, kwargs)), kwargs.get("out"))

    def _rounded(self, result: Any, out: Any) -> Any:
        if isinstance(result, list | tuple):
            return type(result)(self._rounded(item, None) for item in result)
        if not isinstance(result, np.ndarray | np.floating) or result.dtype.kind != "f":
            return result
        near = _near(np.asarray(result), self.to)
        if out is not None and isinstance(result, np.ndarray):
            result[...] = near
            return out[0] if isinstance(out, tuple) else out
        return near.view(type(self))


class Float16Array(RoundedArray):
    to = "float16"


class BFloat16Array(RoundedArray):
    to = "bfloat16"


class Float32Array(RoundedArray):
    to = "float32"


ROUNDED = {"float16": Float16Array, "bfloat16": BFloat16Array, "float32": Float32Array}


class _Random(threading.local):
    """The numbers by which each thread rounds at random; None: it rounds to the nearest."""

    generator: np.random.Generator | None = None


_random = _Random()


@contextmanager
def rounding_at_random(seed: int) -> Iterator[None]:
    """Inside, each result of a rounded array is one of its two neighbors: see ``rounded_at_random``."""
    before, _random.generator = _random.generator, np.random.default_rng(seed)
    try:
        yield
    finally:
        _random.generator = before


def _near(array: np.ndarray, to: str) -> np.ndarray:
    if _random.generator is not None:
        return rounded_at_random(array, to, _random.generator)
    return rounded(array, to).astype(array.dtype, copy=False)


def _plain(leaf: Any) -> Any:
    return leaf.view(np.ndarray) if isinstance(leaf, RoundedArray) else leaf


def in_float32(array: np.ndarray) -> np.ndarray:
    """The same memory, where operations do not round: for what is never computed in less, such as the loss."""
    return _plain(array)


def format_of(array: np.ndarray) -> str | None:
    """Return what an array's operations round to; None: nothing further."""
    return array.to if isinstance(array, RoundedArray) else None


def rounded_array(array: np.ndarray, dtype: str | None) -> np.ndarray:
    """A float array whose operations round to ``dtype``; any other array, and with None any at all, as it is."""
    if dtype is None or array.dtype.kind != "f":
        return array
    return _near(array, dtype).view(ROUNDED[dtype])


class _Products(threading.local):
    """The formats that matrix products are rounded to, in each thread for itself; and in what TF32's factors are.

    With ``in_turn`` a product's sums are of one term after another.
    """

    to: str | None = None
    tf32: str = "tf32"
    in_turn: bool = False


_products = _Products()


@contextmanager
def rounded_products(to: str | None) -> Iterator[None]:
    """Inside, ``product`` rounds to this format; None changes nothing."""
    before, _products.to = _products.to, to or _products.to
    try:
        yield
    finally:
        _products.to = before


@contextmanager
def _tf32_towards_zero() -> Iterator[None]:
    """Inside, the factors of TF32 are not rounded to the nearest: a GPU may do either."""
    before, _products.tf32 = _products.tf32, TF32_TOWARDS_ZERO
    try:
        yield
    finally:
        _products.tf32 = before


SETTINGS: dict[str, Callable[[], AbstractContextManager[None]]] = {TF32_TOWARDS_ZERO: _tf32_towards_zero}


def product(A: np.ndarray, B: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """A @ B of a layer, forward or backward; within ``rounded_products`` with factors and result rounded, or factors alone."""
    to = _products.to
    if to is None:
        return (_summed_in_turn if _products.in_turn else np.matmul)(A, B, out=out)
    if to == "tf32":  # a format of factors alone
        return np.matmul(rounded(A, _products.tf32), rounded(B, _products.tf32), out=out)
    result = np.matmul(rounded(A, to), rounded(B, to), out=out)
    result[...] = rounded(result, to)
    return result


@contextmanager
def summing_in_turn() -> Iterator[None]:
    """Inside, ``product`` adds one term after another, each sum rounded, as kernels for narrow matrices do.

    The error of n terms then grows with the root of n; NumPy's own kernel adds in blocks, whose errors hardly grow.
    """
    before, _products.in_turn = _products.in_turn, True
    try:
        yield
    finally:
        _products.in_turn = before


def _summed_in_turn(A: np.ndarray, B: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    columns, rows = np.moveaxis(A, -1, 0)[..., None], np.moveaxis(B, -2, 0)[..., None, :]
    result = np.multiply(columns[0], rows[0], out=out)
    for column, row in zip(columns[1:], rows[1:], strict=True):
        result += column * row
    return result


def add_bias(products: np.ndarray, bias: np.ndarray) -> None:
    """Add a bias [out] in place to products [N, out]; where these were rounded the sum is too, as Flax and Keras have it."""
    products += bias
    if _products.to not in (None, "tf32"):
        products[...] = rounded(products, _products.to)
