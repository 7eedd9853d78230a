"""Choice of XLA's optimizations with which a program is compiled."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, update_wrapper
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

# What is compared, and not trained with, runs once a program, and XLA's CPU compiler takes most of its time in LLVM: a model's
# loss and gradients compile in a seventh of the time so.
QUICKLY = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
# What evaluates a model of some size may run often: in three fifths of the time, and at base size it runs as fast.
READILY = {"xla_backend_optimization_level": 1}
# What decodes: in three fifths of the time, and a small model decodes in seven tenths of the time so. At base size both are
# alike. A training step would take a quarter more to run.
DECODING = {"xla_backend_optimization_level": 1, "xla_cpu_use_fusion_emitters": False}
# For a GPU each product is compiled in many ways, and all are timed; without that, and by cuBLAS, in two thirds of the time.
UNTIMED = {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}
SELDOM: dict[str, Mapping[str, Any]] = {"cpu": QUICKLY, "gpu": UNTIMED}
OFTEN: dict[str, Mapping[str, Any]] = {"cpu": READILY, "gpu": {}}
THOROUGH: dict[str, Any] = {}
# What is asked of all programs for a while, whatever they are for: see ``settings``.
EVERYWHERE: dict[str, Any] = {}
SOME_SIZE = 1 << 20  # numbers


def compiled(function: Callable[..., Any], static: int, platform: str, quickly: bool = True) -> Callable[..., Any]:
    """A function of ``static`` constants and then arrays, compiled in little time, unless XLA_FLAGS says how."""
    return _compiled(function, static, platform, quickly, tuple(EVERYWHERE.items()))


@lru_cache
def _compiled(function: Callable[..., Any], static: int, platform: str, quickly: bool, everywhere: Any) -> Callable[..., Any]:
    options = _options((SELDOM if quickly else OFTEN).get(platform, {}))
    return jax.jit(function, static_argnums=tuple(range(static)), compiler_options=options)


class Program:
    """A function that trains or decodes, of a model's ``Structure`` and then other things: compiled once for their sizes.

    It runs often, and is compiled with all of XLA's optimizations that gain it something; but in little time on the platform
    that ``seldom_on`` names.
    """

    def __init__(self, function: Callable[..., Any], decodes: bool = False, **options: Any):
        update_wrapper(self, function)
        self.function, self.decodes, self.options = function, decodes, options
        self.made: dict[tuple[int, Any], Callable[..., Any]] = {}

    def with_options(self, options: Mapping[str, Any]) -> Callable[..., Any]:
        """Compiled with these of this module, and with what is asked of all programs now."""
        key = id(options), tuple(EVERYWHERE.items())
        if key not in self.made:
            self.made[key] = jax.jit(self.function, compiler_options=_options(options), **self.options)
        return self.made[key]

    @property
    def thorough(self) -> Callable[..., Any]:
        return self.with_options(THOROUGH)

    def __call__(self, structure: Any, *others: Any) -> Any:
        if structure.seldom_on:
            program = self.with_options(SELDOM[structure.seldom_on])
        else:
            program = self.with_options(DECODING) if self.decodes and structure.on_cpu else self.thorough
        return program(structure, *others)


def is_small(arrays: Iterable[Array]) -> bool:
    return sum(array.size for array in arrays) < SOME_SIZE


def seldom_on(leaves: Iterable[Array]) -> str:
    """The platform of a model of these arrays that is likelier compared than used: a small one that is not of float32; else "".

    A training step of the book's compiles in a quarter of the time so, and takes a third more to run, as decoding does.
    """
    floats = [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]
    if not floats or not is_small(floats) or any(leaf.dtype == jnp.float32 for leaf in floats):
        return ""
    platforms = platforms_of(floats)
    return next(iter(platforms)) if len(platforms) == 1 and platforms <= set(SELDOM) else ""


def platforms_of(arrays: Iterable[Array]) -> set[str]:
    """Return where they lie, or will be used: flax reads files into arrays of NumPy, which JAX takes to its first device."""
    devices = (array.devices() if isinstance(array, jax.Array) else jax.devices()[:1] for array in arrays)
    return {device.platform for these in devices for device in these}


def _options(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Keep the options that this compiler knows; only what is asked of all programs where XLA_FLAGS says how to optimize."""
    told = "xla_backend_optimization_level" in os.environ.get("XLA_FLAGS", "")
    wanted = {**({} if told else options), **EVERYWHERE}
    return {name: value for name, value in wanted.items() if _known(name, value)} or None


@cache
def _known(option: str, value: Any) -> bool:
    """Tell whether this version's compiler has the option: some came late, and some have gone."""
    try:
        jax.jit(operator.neg, compiler_options={option: value})(np.zeros(()))
    except jax.errors.JaxRuntimeError:
        return False
    return True
