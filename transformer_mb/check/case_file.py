"""A failing case in one small file, so that another process or another machine can run it again.

The file is a safetensors file: weights, inputs, and the map of weights as places and factors. What else there is to know (both
subjects, how the case failed, the versions it failed with) is JSON in its metadata. Reading it executes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from safetensors.numpy import save

from ..errors import CheckpointError, ConfigError
from ..files.tensors import dense, read_tensor_file
from ..files.typed_record import check_record, loaded
from ..files.whole_file import check_result_file, replaced_file
from .cases import Case
from .subjects import Subject
from .weight_map import Arrangement, WeightMap

FORMAT, FIELD = 1, "transformer_mb.check"
PREFIXES = ("weight", "input", "places", "factors")


class Written(TypedDict):
    """The fields of the metadata; see ``StoredCase``."""

    format: int
    reference: dict[str, str]
    candidate: dict[str, str]
    seed: int
    inputs: list[str]
    constants: dict[str, float]
    kept: list[str]
    kept_there: list[str]
    shapes: dict[str, list[int]]
    there: dict[str, list[int]]
    texts: dict[str, str]
    way: dict[str, str]
    versions: dict[str, str]


@dataclass(frozen=True)
class StoredCase:
    """The contents of a file from which a case runs again.

    Args:
        way: how it failed, in words by what they say. versions: of both sides' frameworks when it did.
    """

    reference: Subject
    candidate: Subject
    weights: WeightMap
    case: Case
    way: Mapping[str, str]
    versions: Mapping[str, str]


def write_case(path: Path, stored: StoredCase, force: bool = False) -> None:
    """Write the file whole or not at all; raises DestinationError where one is already, unless ``force`` replaces it."""
    check_result_file(path, force)
    pairs = stored.weights.pairs
    parts: dict[str, Mapping[str, np.ndarray]] = {
        "weight": stored.case.weights,
        "input": stored.case.inputs,
        "places": {name: pair.places for name, pair in pairs.items()},
        "factors": {name: pair.factors for name, pair in pairs.items() if not np.all(pair.factors == 1.0)},
    }
    content: Written = {
        "format": FORMAT,
        "reference": stored.reference.to_dict(),
        "candidate": stored.candidate.to_dict(),
        "seed": stored.case.seed,
        "inputs": list(stored.case.inputs),
        "constants": dict(stored.weights.constants),
        "kept": list(stored.weights.kept),
        "kept_there": list(stored.weights.kept_there),
        "shapes": {name: list(shape) for name, shape in stored.weights.shapes.items()},
        "there": {name: list(shape) for name, shape in stored.weights.there.items()},
        "texts": dict(stored.weights.texts),
        "way": dict(stored.way),
        "versions": dict(stored.versions),
    }
    arrays = {f"{prefix}.{name}": array for prefix, part in parts.items() for name, array in part.items()}
    with replaced_file(path) as file:
        file.write(save(dense(arrays), {FIELD: json.dumps(content)}))


def read_case(path: Path) -> StoredCase:
    """Read the file; raises CheckpointError for one that is damaged, or of another kind."""
    file = read_tensor_file(path)
    try:
        content = loaded(file.metadata.get(FIELD, "null"))
        if content is None:
            raise ValueError("it holds tensors and no case")
        check_record(Written, content, "the case")
        if content["format"] != FORMAT:
            raise ValueError(f"its format must be {FORMAT}, got {content['format']}")
        parts = {prefix: _under(prefix, file.arrays) for prefix in PREFIXES}
        if sorted(content["inputs"]) != sorted(parts["input"]):
            raise ValueError(f"its inputs must be {sorted(parts['input'])}, got {content['inputs']}")
        inputs = {name: parts["input"][name] for name in content["inputs"]}  # in the order in which they are given
        return StoredCase(
            Subject.from_dict(content["reference"]),
            Subject.from_dict(content["candidate"]),
            _weight_map(content, parts["places"], parts["factors"]),
            Case(parts["weight"], inputs, content["seed"]),
            content["way"],
            content["versions"],
        )
    except (ValueError, ConfigError) as error:
        reason = str(error).removesuffix(".")
        raise CheckpointError(f"{path} must be a case that transformer_mb.check has written: {reason}.") from None


def _weight_map(content: Mapping[str, Any], places: Mapping[str, np.ndarray], factors: Mapping[str, np.ndarray]) -> WeightMap:
    """Return the map; each place must be one of the candidate's numbers, and be taken once."""
    shapes, there = ({name: tuple(shape) for name, shape in content[key].items()} for key in ("shapes", "there"))
    total = sum(int(np.prod(shape, dtype=np.int64)) for shape in there.values())
    taken = np.concatenate([np.ravel(array) for array in places.values()] or [np.zeros(0, np.int64)])
    if taken.dtype != np.int64 or np.any((taken < 0) | (taken >= total)) or len(np.unique(taken)) != len(taken):
        raise ValueError("its map of weights must take each number of the candidate at most once")
    pairs = {name: Arrangement(array, factors.get(name, np.ones(array.shape))) for name, array in places.items()}
    for name, pair in pairs.items():
        if not pair.places.shape == pair.factors.shape == shapes.get(name):
            raise ValueError(f"its map of weights must have the reference's shapes, but {name} has {list(pair.places.shape)}")
        if not np.all(np.isfinite(pair.factors)) or np.any(pair.factors == 0.0):
            raise ValueError(f"the factors of {name} must be finite and other than 0")
    kept, kept_there = tuple(content["kept"]), tuple(content["kept_there"])
    return WeightMap(pairs, content["constants"], kept, kept_there, shapes, there, content["texts"])


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    start = f"{prefix}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
