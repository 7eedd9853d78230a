"""What training scripts save beside their weights and torch refuses to make: numbers and arrays of NumPy, options of a command
line, paths. Values that do nothing stand for them; of an array they keep the bytes."""

from __future__ import annotations

import argparse
import pathlib
from typing import Any

import numpy as np

from ....errors import PortError
from ...safety.raw_arrays import array_from_bytes, dtype_of

KINDS = {"f": "float", "i": "int", "u": "uint", "b": "bool"}


class StandIn:
    """Anything that is made of arguments and then given a state."""

    def __init__(self, *arguments: Any):
        self.arguments, self.state = arguments, None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    @property
    def shape(self) -> tuple[int, ...]:
        array = self.array()
        return () if array is None else array.shape

    def array(self) -> np.ndarray | None:
        """The numbers of an ``ndarray``: its state is (version, shape, dtype, Fortran order, bytes). None: it is none."""
        match self.state:
            case (_, tuple(shape), StandIn(arguments=(str(code), *_), state=(_, "<" | "|", *_)), bool(fortran), bytes(raw)):
                name = (
                    "bool" if code == "b1" else f"{KINDS.get(code[:1], '')}{8 * int(code[1:]) if code[1:].isdecimal() else ''}"
                )
                try:
                    return array_from_bytes(raw, dtype_of(name, "of NumPy"), shape, "of NumPy", fortran)
                except PortError:
                    return None
        return None


def harmless() -> list[Any]:
    """For ``torch.serialization.safe_globals``, under the names of NumPy 1 and 2."""
    multiarray = [f"numpy.{room}.multiarray.{name}" for room in ("core", "_core") for name in ("scalar", "_reconstruct")]
    named = [(StandIn, name) for name in (*multiarray, "numpy.dtype", "numpy.ndarray")]
    return [StandIn, *named, argparse.Namespace, pathlib.PosixPath, pathlib.PurePosixPath]
