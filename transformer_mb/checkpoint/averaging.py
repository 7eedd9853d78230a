"""The mean of several models: of those that a training has kept, or of whole checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CheckpointError, ConfigError
from ..files.regular import LARGEST, read_regular_file
from ..files.whole_folder import current_folder
from .content import Checkpoint
from .files import CONFIG, FILES, MODEL, OF_TRAINING, check_destination, check_folder_name, holds_checkpoint, kept_name
from .model import read_checkpoint, write_checkpoint


def average(folders: Any, out: str | PathLike[str], *, last: int | None = None, force: bool = False) -> list[str]:
    """Write a model whose weights are the mean of others', summed in float64; it has no state of a training.

    Args:
        folders: one checkpoint folder, whose training kept the weights of several validations (``keep_best``); or several
            folders, whose models are taken, all with the same configuration and vocabularies.
        out: a new folder; ``force`` replaces a checkpoint there.
        last: of one folder, the number of kept weights to take, those after the most steps.
    Returns: the files whose mean it is.
    Raises: CheckpointError: a folder is damaged, or two of them differ in configuration or vocabularies. ConfigError: another
    argument that cannot be.
    """
    paths = _paths(folders)
    target = Path(out)
    check_folder_name(out)
    check_destination(target)
    if holds_checkpoint(target) and not force:
        raise CheckpointError(f"{target} holds a checkpoint already: force=True (--force) replaces it.")
    if target.resolve() in [path.resolve() for path in paths]:
        raise CheckpointError(f"The mean must go to a folder of its own, got {target}, which is one of those it is taken of.")
    first = read_checkpoint(paths[0], optimizer=len(paths) == 1)
    if len(paths) == 1:
        steps = _kept(first, paths[0], last)
        sources = [str(paths[0] / kept_name(step)) for step in steps]
        mean = _mean(first.kept[step] for step in steps)
    elif last is not None:
        raise ConfigError(f"last must be left out where several folders are named, got {last}.")
    else:
        sources = [str(path / MODEL) for path in paths]
        mean = _mean(chain([first.weights], (_like_first(paths[0], first, path).weights for path in paths[1:])))
    alone: dict[str, Any] = {"optimizer": None, "trainer": None, "last": None, "kept": {}}
    write_checkpoint(target, replace(first, weights=mean, **alone))
    return sources


def _paths(folders: Any) -> list[Path]:
    one = isinstance(folders, str | PathLike) or not isinstance(folders, Iterable)
    listed: Sequence[Any] = [folders] if one else list(folders)
    for folder in listed:
        check_folder_name(folder)
    if not listed:
        raise ConfigError("The mean must be of at least one checkpoint folder, got none.")
    return [Path(folder) for folder in listed]


def _kept(checkpoint: Checkpoint, folder: Path, last: int | None) -> list[int]:
    steps = sorted(checkpoint.kept)
    if not steps:
        raise CheckpointError(
            f"{folder} must hold the weights of several validations, but it keeps none beside its model: train with "
            "keep_best = N (--keep-best N), or name several folders."
        )
    if last is not None and not 1 <= last <= len(steps):
        raise ConfigError(f"last must be from 1 to {len(steps)}, the number of weights that {folder} keeps, got {last}.")
    return steps[-last:] if last else steps


def _like_first(first: Path, expected: Checkpoint, folder: Path) -> Checkpoint:
    """The checkpoint in a folder, whose files are those of the first but for weights and training."""
    checkpoint = read_checkpoint(folder, optimizer=False)
    fields, others = expected.config.to_dict(), checkpoint.config.to_dict()
    for name in fields:
        if fields[name] != others[name]:
            raise CheckpointError(
                f"All checkpoints must have the same configuration, but {name} is {fields[name]!r:.80} in {first / CONFIG} and "
                f"{others[name]!r:.80} in {folder / CONFIG}."
            )
    own, theirs = _contents(first), _contents(folder)
    for name in sorted(own.keys() | theirs.keys()):
        if own.get(name) != theirs.get(name):
            missing = [str(place) for place, files in ((first, own), (folder, theirs)) if name not in files]
            how = f"there is none in {missing[0]}" if missing else f"those of {first} and {folder} differ"
            raise CheckpointError(f"All checkpoints must have the same {name}, but {how}.")
    return checkpoint


def _contents(folder: Path) -> dict[str, bytes]:
    """The files that say how text becomes ids, by name."""
    ours = [name for name in FILES if name not in (CONFIG, MODEL, *OF_TRAINING)]
    files = [path for path in current_folder(folder).iterdir() if any(fnmatchcase(path.name, name) for name in ours)]
    return {path.name: bytes(read_regular_file(path, LARGEST["vocabulary"])) for path in files}


def _mean(models: Iterable[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Average tensors by name, in the dtypes of the first model."""
    sums: dict[str, np.ndarray] = {}
    dtypes: dict[str, np.dtype[Any]] = {}
    count = 0
    for weights in models:
        count += 1
        for name, array in weights.items():
            dtypes.setdefault(name, array.dtype)
            sums[name] = sums.get(name, 0.0) + array.astype(np.float64)
    return {name: (total / count).astype(dtypes[name]) for name, total in sums.items()}
