"""A single thread for small arrays: several share a few thousand numbers so often that they mostly wait for each other."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import torch

from transformer_mb.config import TransformerConfig

# Multiplications of the largest product from which on a second thread brings more than it costs (measured on two cores).
LARGE = 2**23


@contextmanager
def suit(device: torch.device, config: TransformerConfig, positions: int) -> Iterator[None]:
    """Inside, this thread's operations on a CPU use one thread where a model has so few positions that more are no help.

    What the user has said is the most there are, and is so again afterwards. Not by torch.set_num_threads: threads of Python
    whose first operation came meanwhile would stay with one.
    """
    threads = torch.get_num_threads()
    openmp = _openmp() if threads > 1 and device.type == "cpu" and positions * _largest(config) < LARGE else None
    if openmp is None:
        yield
        return
    openmp.omp_set_num_threads(1)
    try:
        yield
    finally:
        openmp.omp_set_num_threads(threads)


def _largest(config: TransformerConfig) -> int:
    """The size of the largest weight."""
    vocabularies = config.source_vocab_size, config.target_vocab_size
    return config.num_hiddens * max(config.ffn_num_hiddens, *(size or 0 for size in vocabularies))


@lru_cache
def _openmp() -> ctypes.CDLL | None:
    """The library that torch computes with, reached through torch's own."""
    for library in (Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*"):
        loaded = ctypes.CDLL(str(library))
        return loaded if hasattr(loaded, "omp_set_num_threads") else None
    return None
