"""Repairs that MXNet 1.9.1 needs on a present-day Python, and what it lacks; imported before all else.

MXNet was retired in 2023. It reads ``numpy.bool``, which NumPy 1.24 removed, when it is imported and later.
"""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from transformer_mb.machine.processor import cores

if "bool" not in vars(numpy):
    numpy.bool = bool  # type: ignore[attr-defined]


@contextmanager
def _for_this_processor() -> Iterator[None]:
    """Set what MXNet and its OpenBLAS of 2021 read from the environment when they are loaded, where the user says nothing.

    MXNet takes half of all processors, as if each core were two. Threads that spin while they wait make small operations take
    twice the time wherever something else runs. To its OpenBLAS a processor that came later is one of 2004, whose matrix
    products take three times as long.
    """
    features = numpy.core._multiarray_umath.__cpu_features__
    chosen = {}
    if not os.environ.keys() & {"OMP_NUM_THREADS", "MXNET_OMP_MAX_THREADS"}:
        chosen = {"MXNET_OMP_MAX_THREADS": str(cores()), "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE")}
    if features.get("AVX2") and features.get("FMA3") and "OPENBLAS_CORETYPE" not in os.environ:
        chosen["OPENBLAS_CORETYPE"] = "Haswell"
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]


with _for_this_processor(), warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of functions that NumPy announces to remove
    from mxnet import base, gluon, util


class _NumPyEverywhere(threading.local):
    """The default in place of what MXNet keeps of each thread, where a new one has no value and so begins without."""

    value = util.np_array(True)


# NumPy's semantics for shapes and arrays (mxnet.np), as in the book. npx.set_np() would set both for this thread alone; here
# they hold for the whole process.
util._NumpyArrayScope._current = _NumPyEverywhere()
_EVERY_THREAD = 2
base.check_call(base._LIB.MXSetIsNumpyShape(_EVERY_THREAD, ctypes.byref(ctypes.c_int())))
# The first call of npx.set_np(), which programs of the book have, would tell of it by way of ``logging.info``, and that gives a
# program that has set up no logging one by itself.
util._set_np_shape_logged = util._set_np_array_logged = True

from transformer_mb.layer_calls import Called  # noqa: E402  # likewise
from transformer_mb.representation import settings  # noqa: E402  # MXNet is to be imported before all else


class Block(Called, gluon.Block):
    """gluon.Block whose call passes keyword arguments on, which MXNet 1.9's does not.

    No HybridBlock: its forward is traced on symbols that have no shape, so that neither the shape checks nor a
    cache's length could be had. ``shortcuts.tape.compiled`` traces on arrays instead.
    """

    def __repr__(self) -> str:
        shown, name = settings(self), type(self).__name__
        if not any(isinstance(value, gluon.Block) for value in vars(self).values()):
            return f"{name}({shown})"
        return super().__repr__().replace("(\n", f"(\n  {shown}\n" if shown else "(\n", 1)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._check_keywords(kwargs)
        for hook in self._forward_pre_hooks.values():
            hook(self, args)
        output = self.forward(*args, **kwargs)
        for hook in self._forward_hooks.values():
            hook(self, args, output)
        return output
