"""NumPy's built-ins: functions of arrays, and nothing to train with."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..facts import Absent
from .calls import Table

ALONE = "NumPy has arrays alone."
NO_LAYERS, NO_LOSSES, NO_BFLOAT16 = "NumPy has no layers.", "NumPy has no losses.", "NumPy has no bfloat16."
COMPILES_NOTHING = "NumPy compiles nothing."


def matmul(X: np.ndarray, Y: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bfloat16":
        raise Absent(NO_BFLOAT16)
    return (X.astype(dtype) @ Y.astype(dtype)).astype("float32")


def drawn(function: Callable[[np.random.Generator, int], Any]) -> Callable[..., Any]:
    """Make a function of a count and a seed from one of a generator and a count."""
    return lambda count, seed: function(np.random.default_rng(seed), count)


def uniform(generator: np.random.Generator, count: int) -> np.ndarray:
    return generator.random(count, "float32")


TABLES: dict[str, Table] = {
    "device": {"default": lambda: "cpu", "use": lambda device: None},
    "numbers": {
        "returned": ALONE,
        "from_python": np.array,
        "arange": np.arange,
        "add": operator.add,
        "add_number": operator.add,
        "divide": operator.truediv,
        "total": np.sum,
        "mean": np.mean,
        "matmul": matmul,
        "follows_array": ALONE,
        "follows_tensor": ALONE,
    },
    "special_numbers": {
        "multiply": operator.mul,
        "floor_divide": operator.floordiv,
        "argmax": np.argmax,
        "whole": np.round,
        "cast": lambda X, dtype: X.astype(dtype),
    },
    "indices": {
        "take": lambda X, ids: np.take(X, ids, axis=0),
        "index": lambda X, ids: X[ids],
        "argmax": lambda X: np.argmax(X, axis=-1),
        "maximum": lambda X: np.max(X, axis=-1),
        "top_k": "NumPy has no top-k; argpartition gives the k largest in no order.",
        "argsort": np.argsort,
        "one_hot": "NumPy has no one-hot.",
    },
    "kinks": "NumPy has no gradients.",
    "attention": "NumPy has no attention.",
    "softmax": {
        "softmax": "NumPy has no softmax; SciPy has one.",
        "masked_softmax": "NumPy has no softmax; SciPy has one, without a mask.",
        "linear": operator.matmul,
    },
    "norms": {
        "layer_norm": NO_LAYERS,
        "layer_norm_cast": NO_LAYERS,
        "layer_norm_of": NO_LAYERS,
        "rms_norm": NO_LAYERS,
        "variance": np.var,
        "deviation": np.std,
    },
    "batch_norms": NO_LAYERS,
    "activations": "NumPy has no activations.",
    "embeddings": NO_LAYERS,
    "cross_entropy": NO_LOSSES,
    "losses": NO_LOSSES,
    "optimizers": "NumPy has no optimizers.",
    "random_numbers": {
        "dense": NO_LAYERS,
        "embedding": NO_LAYERS,
        "truncated_normal": "NumPy has no truncated normal distribution.",
        "initialized_twice": "NumPy has no initializers.",
        "uniform": drawn(uniform),
        "uniform_twice": drawn(lambda generator, count: (uniform(generator, count), uniform(generator, count))),
        "normal": drawn(lambda generator, count: generator.standard_normal(count, "float32")),
        "dropout": NO_LAYERS,
    },
    "own_parts": {
        "norm_epsilon": "NumPy has no norms.",
        "initial_weights": "NumPy has no initializers.",
        "use_own_adam": "NumPy has no optimizers.",
    },
    "compilation": {
        "through_bfloat16": NO_BFLOAT16,
        "through_bfloat16_compiled": COMPILES_NOTHING,
        "sum_less_first": COMPILES_NOTHING,
        "logarithm_of_power": COMPILES_NOTHING,
        "multiply_add": COMPILES_NOTHING,
        "third": COMPILES_NOTHING,
        "runs": COMPILES_NOTHING,
    },
}
