"""PyTorch's own settings of what a GPU computes with, each as a context: what the parity matrix asks for by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


@contextmanager
def tf32() -> Iterator[None]:
    """Products of float32 matrices may round their factors to TF32, where the device has it; the switch is the process's."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def _deterministic() -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


@contextmanager
def _cuda_graphs() -> Iterator[None]:
    """Make CUDA graphs of what is compiled inside, from its second call on; RuntimeError where none was ever replayed."""
    from torch._inductor import config as inductor  # takes as long to import as all of torch

    graph: Any = torch.cuda.CUDAGraph
    replay, count = graph.replay, 0

    def counted(self: Any) -> None:
        nonlocal count
        count += 1
        replay(self)

    torch.compiler.reset()  # else what was compiled without them is taken again
    graph.replay = counted
    try:
        with inductor.patch({"triton.cudagraphs": True}):
            yield
    finally:
        graph.replay = replay
        torch.compiler.reset()
    if not count:
        raise RuntimeError("CUDA graphs were asked for, and none was replayed: PyTorch's log says why it skipped them.")


SETTINGS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "math": partial(sdpa_kernel, SDPBackend.MATH),
    "flash": partial(sdpa_kernel, SDPBackend.FLASH_ATTENTION),
    "memory-efficient": partial(sdpa_kernel, SDPBackend.EFFICIENT_ATTENTION),
    "cuDNN": partial(sdpa_kernel, SDPBackend.CUDNN_ATTENTION),
    "CUDA graphs": _cuda_graphs,
    "TF32": tf32,
    "deterministic": _deterministic,
}
