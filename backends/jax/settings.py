"""JAX's own settings of what a GPU computes with, each as a context: what the parity matrix asks for by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import jax

from .shortcuts import compilation, compiled


@contextmanager
def tf32() -> Iterator[None]:
    """Behave as if this backend had forgotten its switch: JAX itself takes TF32 for products of float32 matrices."""
    before = compiled.PRECISIONS["full"]
    compiled.PRECISIONS["full"] = compiled.PRECISIONS["tf32"]
    jax.clear_caches()  # programs are kept by what they are made of, which this is no part of
    try:
        yield
    finally:
        compiled.PRECISIONS["full"] = before
        jax.clear_caches()


@contextmanager
def _deterministic() -> Iterator[None]:
    """Sums into rows of an embedding in one order: else a GPU's threads add as they come."""
    compilation.EVERYWHERE["xla_gpu_deterministic_ops"] = True
    try:
        yield
    finally:
        del compilation.EVERYWHERE["xla_gpu_deterministic_ops"]


SETTINGS: dict[str, Callable[[], AbstractContextManager[None]]] = {"TF32": tf32, "deterministic": _deterministic}
