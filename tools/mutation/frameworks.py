"""Settings of each framework by which a mistake costs little compilation, and its way to keep a gradient from an expression.

TensorFlow runs its functions eagerly: a mistake in Python code is mostly the same mathematics when it is not compiled. What
survives so, or in what all share, is judged once more by compiled TensorFlow, in few experiments; what all share first
by PyTorch, which orders equal numbers otherwise than NumPy. JAX compiles, for its single operations take longer; programs
that a mistake leaves as they are come from a folder of compiled ones.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

from .sources import ROOT, SHARED

PROGRAMS = ROOT / "build" / "mutants" / "jax"
XLA_FLAGS = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
COMPILED = ("jax",)
AGAIN = {"tensorflow": ["tensorflow"], SHARED: ["torch", "tensorflow"]}  # which judge once more what survives
CHEAP = ("torch",)  # of these: what compiles nothing
# Where JAX computes in float64, the seeds of all its dtypes have 64 bits: what survives is judged once more where it does not.
WITHOUT_FLOAT64 = ("jax",)


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
    from flax import nnx

    X = X.value if isinstance(X, nnx.Variable) else X
    return jax.lax.stop_gradient(X) if isinstance(X, jax.Array) and jnp.issubdtype(X.dtype, jnp.floating) else None


class Detach:
    """``detached(X)``: X, or each of a tuple, without its gradient.

    What is no float tensor stays, and ``applied`` says whether any was one.
    """

    def __init__(self) -> None:
        self.applied = False
        self.native: Callable[[Any], Any] = lambda X: None

    def __call__(self, X: Any) -> Any:
        if type(X) is tuple:
            return tuple(map(self, X))
        native = self.native(X)
        if native is None:
            return X
        self.applied = True
        return native


DETACH = Detach()
DETACHING = {"torch": _torch, "tensorflow": _tensorflow, "paddle": _paddle, "mxnet": _mxnet, "jax": _jax}


def prepare(backend: str, compiled: bool = False) -> None:
    """Set the environment, before the backend is imported; ``compiled``: whatever it costs."""
    if backend == "tensorflow":
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import tensorflow as tf

        tf.config.run_functions_eagerly(not compiled)
    if backend == "jax":
        os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)
        import jax

        jax.config.update("jax_compilation_cache_dir", str(PROGRAMS))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    DETACH.native = DETACHING.get(backend, DETACH.native)


def classes_by_name(backend: str) -> dict[str, Any]:
    """The table by which Keras, where it copies a model, finds the classes of its layers: those that were imported last."""
    if backend != "tensorflow":
        return {}
    import keras

    return keras.saving.get_custom_objects()


def forget(backend: str) -> None:
    """Free what earlier mistakes have left in memory."""
    gc.collect()
    if backend in COMPILED:
        import jax

        jax.clear_caches()
