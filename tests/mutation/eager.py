"""What each framework needs so that a mistake costs no compilation, and its way to keep a gradient from an expression.

A mistake in Python code is the same mathematics when it is not compiled. What only a compiler does wrong is no mistake of
these files, and the matrix itself runs compiled.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


def _torch(X: Any) -> Any:
    import torch

    return X.detach() if isinstance(X, torch.Tensor) and X.is_floating_point() else None


def _tensorflow(X: Any) -> Any:
    import tensorflow as tf

    return tf.stop_gradient(X) if tf.is_tensor(X) and X.dtype.is_floating else None


def _paddle(X: Any) -> Any:
    import paddle

    return X.detach() if isinstance(X, paddle.Tensor) and X.is_floating_point() else None


def _mxnet(X: Any) -> Any:
    from mxnet import np as mnp

    return X.detach() if isinstance(X, mnp.ndarray) and "float" in str(X.dtype) else None


def _jax(X: Any) -> Any:
    import jax
    import jax.numpy as jnp

    return jax.lax.stop_gradient(X) if isinstance(X, jax.Array) and jnp.issubdtype(X.dtype, jnp.floating) else None


class Detach:
    """``detached(X)``: X without its gradient. What is no float tensor stays, and ``applied`` says whether any was one."""

    def __init__(self) -> None:
        self.applied = False
        self.native: Callable[[Any], Any] = lambda X: None

    def __call__(self, X: Any) -> Any:
        native = self.native(X)
        if native is None:
            return X
        self.applied = True
        return native


DETACH = Detach()
DETACHING = {"torch": _torch, "tensorflow": _tensorflow, "paddle": _paddle, "mxnet": _mxnet, "jax": _jax}


def prepare(backend: str) -> None:
    """Before the backend is imported."""
    if backend == "tensorflow":
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import tensorflow as tf

        tf.config.run_functions_eagerly(True)
    if backend == "jax":
        os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
        import jax

        jax.config.update("jax_disable_jit", True)
    DETACH.native = DETACHING.get(backend, DETACH.native)
