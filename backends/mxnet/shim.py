"""What MXNet 1.9.1 needs before it can be used on a present-day Python; imported before everything else here.

MXNet was retired in 2023. It reads ``numpy.bool``, which NumPy 1.24 removed, when it is imported and later.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy

if "bool" not in vars(numpy):
    numpy.bool = bool  # type: ignore[attr-defined]

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of functions that NumPy announces to remove
    from mxnet import gluon, npx

# NumPy's semantics for shapes and arrays (mxnet.np), as in the book; it holds for the whole process.
npx.set_np()


class Block(gluon.Block):
    """gluon.Block whose call passes keyword arguments on, which MXNet 1.9's does not.

    No HybridBlock: its forward is traced on symbols that have no shape, so that neither the shape checks nor a
    cache's length could be had, and the operators' own time is most of a training step (measured).
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for hook in self._forward_pre_hooks.values():
            hook(self, args)
        output = self.forward(*args, **kwargs)
        for hook in self._forward_hooks.values():
            hook(self, args, output)
        return output
