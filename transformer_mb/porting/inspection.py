"""Inspection of a readable path, also when it cannot be ported: tensors, family, and what is odd about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PortError
from .families import FAMILIES
from .files.sources import likely_cause, plain_settings, read_source, read_tensors, recognized_family, resolved
from .kinds import Settings
from .model import NativeFile, PortedModel, odd_numbers
from .origins import Origins, origins


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """``tensors`` are rows of name, shape, dtype, by name, since files give them in any order.

    ``odd`` is one sentence each; ``config`` None: too little is known."""

    path: Path
    format: str
    family: str | None
    tensors: list[tuple[str, list[int], str]]
    optimizer: bool
    config: dict[str, Any] | None
    origins: Origins
    odd: tuple[str, ...]

    @property
    def numbers(self) -> int:
        return sum(int(np.prod(shape)) for _, shape, _ in self.tensors)


def inspect(path: Any, from_: str | None = None, settings: Settings | None = None) -> Inspection:
    """Inspect a path; raises PortError only when it cannot be read at all."""
    path, settings = resolved(Path(path)), settings or {}
    family = FAMILIES.get(from_ or "")
    native: NativeFile | None = None
    model: PortedModel | None = None
    if path.is_dir():
        source = read_source(path, from_, settings)
        family, model = source.family, source.model
        tensors, optimizer, notes = model.weights, model.optimizer, model.notes
    else:
        native = read_tensors(path, None if family else from_, settings)
        settings = plain_settings(settings, native)
        tensors, optimizer, notes = native.tensors, native.optimizer, native.notes
        try:
            with likely_cause(native, path):
                family = family or recognized_family(native, path)
                model = family.read(native, settings)
            notes = model.notes
        except PortError as error:
            notes = (*notes, str(error))
    return Inspection(
        path=path,
        format=native.format if native else "folder",
        family=family.name if family else None,
        tensors=[(name, list(array.shape), array.dtype.name) for name, array in sorted(tensors.items())],
        optimizer=optimizer is not None,
        config=model.config.to_dict() if model else None,
        origins=origins(model, native, settings) if model else {},
        odd=(*notes, *odd_numbers(tensors)),
    )
