"""The canonical checkpoint folder (see ``checkpoint``) as one family among the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...atomic_folder import current_folder
from ...checkpoint import Checkpoint, fill_folder, read_checkpoint
from ...checkpoint_files import CONFIG, MODEL, holds_checkpoint, read_config
from ...errors import CheckpointError, PortError
from ..ported import PortedModel
from ..settings import FIELDS, check_sizes, vocabularies

PROGRESS = "How far the training is (trainer.json) stays behind: the optimizer goes on, the epochs count from the start."


def recognise(folder: Path) -> bool:
    return holds_checkpoint(folder)


def read(folder: Path, settings: Mapping[str, Any]) -> PortedModel:
    """The settings may change what changes no tensor, such as ``compat_decode``, and bring vocabularies."""
    try:
        _check_sizes(current_folder(folder))
        checkpoint = read_checkpoint(folder)
        config = checkpoint.config.replace(**{name: value for name, value in settings.items() if name in FIELDS})
        Checkpoint(config=config, weights=checkpoint.weights).check()
    except (CheckpointError, ValueError) as error:
        raise PortError(str(error)) from None
    kept = {"source_vocabulary": checkpoint.source_vocabulary, "target_vocabulary": checkpoint.target_vocabulary}
    return PortedModel(
        config=config,
        weights=checkpoint.weights,
        optimizer=checkpoint.optimizer,
        notes=(PROGRESS,) if checkpoint.trainer else (),
        **{**kept, **vocabularies(settings)},
    )


def _check_sizes(folder: Path) -> None:
    """Each layer has tensors of many bytes: more layers than bytes are a lie."""
    weights = folder / MODEL
    check_sizes(read_config(folder / CONFIG), weights.stat().st_size if weights.is_file() else 0)


def write(model: PortedModel, folder: Path) -> None:
    try:
        fill_folder(
            folder,
            Checkpoint(
                config=model.config,
                weights=model.weights,
                source_vocabulary=model.source_vocabulary,
                target_vocabulary=model.target_vocabulary,
                optimizer=model.optimizer,
                trainer=None if model.optimizer is None else {},
            ),
        )
    except CheckpointError as error:
        raise PortError(str(error)) from None
