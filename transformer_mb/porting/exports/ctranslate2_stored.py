"""A model.bin of CTranslate2, version 6, as its ``ModelSpec._serialize`` writes it: variables, then second names of them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

VERSION = 6
DTYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")
NARROW = np.dtype(np.uint16)  # NumPy has no bfloat16


def read_variables(path: Path) -> dict[str, np.ndarray]:
    """By name; a second name is the same array. Raises ValueError for what is not such a file."""
    reader = _Reader(path.read_bytes())
    if (version := reader.number("I")) != VERSION:
        raise ValueError(f"binary version must be {VERSION}, got {version}")
    reader.text()  # the specification's name
    reader.number("I")  # and revision
    variables = {}
    for _ in range(reader.number("I")):
        name = reader.text()
        shape = [reader.number("I") for _ in range(reader.number("B"))]
        dtype = DTYPES[reader.number("B")]
        raw = reader.take(reader.number("I"))
        variables[name] = np.frombuffer(raw, NARROW if dtype == "bfloat16" else dtype).reshape(shape)
    for _ in range(reader.number("I")):
        second = reader.text()
        variables[second] = variables[reader.text()]
    if reader.at != len(reader.data):
        raise ValueError(f"{len(reader.data) - reader.at} bytes are left over")
    return variables


class _Reader:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self.data):
            raise ValueError("it ends too soon")
        return self.data[self.at - count : self.at]

    def number(self, kind: str) -> int:
        return int(struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0])

    def text(self) -> str:
        return self.take(self.number("H")).decode().removesuffix("\0")
