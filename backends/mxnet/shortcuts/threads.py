"""A single thread for small arrays: MXNet gives each operation all of them, and the smallest then take twice the time."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache

import mxnet as mx

from transformer_mb.machine.processor import cores

# Multiplications of a projection from which on a second thread brings more than it costs (measured on two cores).
LARGE = 2**24

_TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_used: int | None = None


def suit(context: mx.Context, positions: int, num_hiddens: int) -> None:
    """Let operations on a CPU use from now on as many threads as work on this many positions is worth.

    That holds for whatever the process asks of MXNet, until it is said again. Nothing changes where the user has said how many.
    """
    global _used
    count = 1 if positions * num_hiddens**2 < LARGE else cores()
    said = os.environ.keys() & {"OMP_NUM_THREADS", "MXNET_OMP_MAX_THREADS"}
    if count == _used or said or context.device_type != "cpu" or _openmp() is None:
        return
    _used = count
    # OpenMP keeps the number by thread. So the engine's worker, on which operations run one after the other, is to set its own.
    device, normal, nothing = (ctypes.c_int * 2)(1, 0), ctypes.c_int(0), (None, 0)
    function = mx.base._LIB.MXEnginePushSync
    mx.base.check_call(function(_task(count), None, None, device, *nothing, *nothing, ctypes.byref(normal), 0, b"threads"))


@lru_cache
def _openmp() -> ctypes.CDLL | None:
    """The library that MXNet's wheels are linked to."""
    try:
        return ctypes.CDLL("libgomp.so.1")
    except OSError:
        return None


@lru_cache
def _task(count: int) -> ctypes._FuncPointer:
    """Kept, since the engine calls it later."""
    return _TASK(lambda *_: _openmp().omp_set_num_threads(count))
