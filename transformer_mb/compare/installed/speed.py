"""A little speed figure, in the process of one framework; no benchmark, but enough to see a version that is twice as slow."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from ...batch import Batch
from ...config import TransformerConfig
from ...random_streams import stream
from ...registry import get_backend
from ...trainer import Trainer

# Milliseconds of D2L's model in float32 with one thread, BATCH pairs of STEPS tokens.
FIGURES = {
    "first training step": "compiling included, where the framework compiles",
    "training step": "the median of later ones",
    "logits": "of a batch in evaluation, the median",
}
VOCABULARY, BATCH, STEPS, TIMES, UNTIMED = 200, 16, 12, 15, 2
# What a framework's behavior may hang on besides itself.
PACKAGES = {
    "numpy": (),
    "torch": ("torch",),
    "tensorflow": ("tensorflow", "tensorflow-cpu", "keras"),
    "paddle": ("paddlepaddle",),
    "mxnet": ("mxnet",),
    "jax": ("jax", "jaxlib", "flax", "optax"),
}


def begin(framework: str) -> tuple[Iterator[str], Callable[[str], str]]:
    """Begin as the process: the packages that are installed here, then what takes how long, unasked.

    A figure that cannot be had is its reason.
    """

    def messages() -> Iterator[str]:
        yield json.dumps({"python": platform.python_version(), **packages(framework)})
        yield json.dumps(dict(figures(framework)))

    return messages(), str


def packages(framework: str) -> Mapping[str, str]:
    """Return the versions of what is installed of it; a framework of another package has NumPy's alone."""
    found = {}
    for name in (*PACKAGES.get(framework, ()), "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def figures(framework: str) -> Iterator[tuple[str, float | str]]:
    """Milliseconds by the names of FIGURES; what a version raises at what another takes is its figure."""
    backend = get_backend(framework, dtype="float32")
    config = TransformerConfig(source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY)
    batch, model = _batch(), backend.build(config)

    @cache
    def trainer() -> Trainer:
        return backend.trainer(model)

    def step() -> float:
        return float(trainer().step(batch))

    def logits() -> np.ndarray:
        return backend.logits(model, batch.source, batch.target_in, batch.source_valid_lens)

    measures = (lambda: _milliseconds(step), lambda: _often(step), lambda: _often(logits))
    for name, measure in zip(FIGURES, measures, strict=True):
        try:
            yield name, measure()
        except Exception as error:
            yield name, f"raises {type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _batch() -> Batch:
    tokens = stream(0, "speed").integers(4, VOCABULARY, (3, BATCH, STEPS))
    lengths = np.full(BATCH, STEPS)
    return Batch(tokens[0], lengths, tokens[1], tokens[2], lengths)


def _often(call: Callable[[], Any]) -> float:
    for _ in range(UNTIMED):
        call()
    return median(_milliseconds(call) for _ in range(TIMES))


def _milliseconds(call: Callable[[], Any]) -> float:
    began = perf_counter()
    call()
    return (perf_counter() - began) * 1e3
