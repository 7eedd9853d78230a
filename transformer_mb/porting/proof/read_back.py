"""What was written, read again and compared with what was to be written, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import PortError
from ...files.digests import digest
from ...printable import counted
from ..families import Family
from ..files.sources import read_file
from ..files.targets import Target
from ..formats import FORMATS
from ..model import Arrays, NativeFile, PortedModel
from ..settings import FIELDS


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Of each tensor read back its checksum; names of those that did not, or not the same; what else is wrong."""

    checksums: dict[str, str]
    changed: tuple[str, ...]
    failures: tuple[str, ...] = ()


def read_back(target: Target, place: Path) -> tuple[PortedModel, NativeFile | None]:
    """What our reader finds there, without settings: the configuration too must come from what was written; and the tensors."""
    if target.format is None:
        model = target.family.module.read(place, {})
        return model, model.native
    if not FORMATS[target.format].writable:
        raise PortError(f"{target.title} cannot be read back.")
    native = read_file(place, target.format)
    return target.family.module.read(native, {}), native


def compared_file(model: PortedModel, result: PortedModel, target: Target) -> Comparison:
    """Weights, and the optimizer's state as far as the result holds it; and what a file or checkpoint of ours records."""
    checksums, changed = _compared(model.weights, result.weights)
    if model.optimizer is not None and result.optimizer is not None:
        changed += [f"optimizer {name}" for name in _compared(model.optimizer, result.optimizer)[1]]
    failures = []
    if target.format is not None or target.name == "canonical":
        other = [name for name in FIELDS if getattr(model.config, name) != getattr(result.config, name)]
        failures = [f"the configuration read back is different: {', '.join(other)}"] if other else []
    return Comparison(checksums=checksums, changed=tuple(changed), failures=tuple(failures))


def compared_export(model: PortedModel, export: Family, place: Path) -> Comparison:
    """Engines compute in float32, and so it is stored; what a file holds beyond the weights must be explained."""
    weights = {name: np.asarray(array, np.float32) for name, array in model.weights.items()}
    stored, unexplained = export.module.read_back(model, place)
    checksums, changed = _compared(weights, stored)
    what = counted(len(unexplained), "stored tensor is", "stored tensors are")
    failures = (f"{what} not of the model: {', '.join(unexplained[:5])}",) if unexplained else ()
    return Comparison(checksums=checksums, changed=tuple(changed), failures=failures)


def checksum(array: np.ndarray) -> str:
    return digest({"": array}).hex()[:16]


def _compared(before: Arrays, after: Arrays) -> tuple[dict[str, str], list[str]]:
    wanted = {name: checksum(array) for name, array in before.items()}
    got = {name: checksum(array) for name, array in after.items()}
    return got, [name for name in {**wanted, **got} if wanted.get(name) != got.get(name)]
