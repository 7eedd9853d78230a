"""Sizes from which a backend takes another way, and contexts in which they are so small that toys take it too.

They are constants of its modules, which its hot paths read as they are: nothing is asked there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

TINY = "tiny thresholds"
# By backend, module and name: what each is when it is tiny. Where two modules read one constant, both are named.
THRESHOLDS: dict[str, dict[str, Any]] = {
    "numpy": {
        "projection.SMALL_WEIGHT": 8,
        "decoding.GROUP": 2,
        "framework.SAFE_EXPONENT": 0.0,
        "framework.SMALL": 1,
        "optimizers.CHUNK": 7,
        "shortcuts.prepared_layers.SAFE_EXPONENT": 0.0,
        "shortcuts.prepared_layers.SMALL_ROW": 1,
        "shortcuts.prepared_layers.SMALL_WEIGHT": 8,
        "shortcuts.prepared_layers.TURNED": range(1, 64),
    },
    "torch": {
        "attention.FEW_SCORES": 1,
        "attention.SHORT_ROW": 4,
        "shortcuts.composed_attention.SHORT_ROW": 4,
        "shortcuts.decoding_steps.JOINED": 8,
        "shortcuts.prepared_layers.FEW_TOKENS": 1,
        "shortcuts.one_row.LARGE_WEIGHT": 1,
        "shortcuts.prepared_layers.TURNED": range(1, 64),
        "shortcuts.recorded_steps.FIRST_REACH": 2,
    },
    "tensorflow": {"shortcuts.decoding_steps.JOINED": 8, "dense.TINY": 8, "optimizers.SMALL": 10},
    "paddle": {
        "optimizers.CHUNK": 7,
        "optimizers.LONGEST": 100,
        "shortcuts.prepared_layers.EINSUM": 8,
        "shortcuts.prepared_layers.JOINED": 8,
    },
    "mxnet": {"shortcuts.calls.MOST_CALLS": 2, "trainer.LARGE": 20, "trainer.MOST_ARRAYS": 3, "trainer.STATIC_STEPS": 0},
    "jax": {"attention.SMALL_PRODUCT": 1, "shortcuts.compilation.SOME_SIZE": 1, "linear.FEW_ROWS": 2},
}
# What forgets all that a backend has made by those constants among others, and keeps: called before and after.
FORGETTING = {"numpy": "shortcuts.prepared_layers._averages.cache_clear", "jax": "shortcuts.compiled.jax.clear_caches"}

_told: list[str] = []


def told() -> str | None:
    """Return what is set now: a model that was made then is another's."""
    return _told[-1] if _told else None


@contextmanager
def tiny(name: str) -> Iterator[None]:
    """Make the thresholds of a backend tiny inside; one of another package has none that are known."""
    own = THRESHOLDS.get(name, {})
    before = {key: attrgetter(key)(_package(name)) for key in own}
    _told.append(TINY)
    _set(name, own)
    try:
        yield
    finally:
        _told.pop()
        _set(name, before)


def _set(name: str, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        module, _, constant = key.rpartition(".")
        setattr(attrgetter(module)(_package(name)), constant, value)
    if name in FORGETTING:
        attrgetter(FORGETTING[name])(_package(name))()


def _package(name: str) -> Any:
    return sys.modules[f"transformer_mb.backends.{name}"]
