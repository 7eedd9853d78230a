"""The canonical checkpoint folder (see ``checkpoint``) as one family among the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...checkpoint import Checkpoint, fill_folder, read_checkpoint
from ...checkpoint.files import holds_checkpoint
from ...errors import CheckpointError, PortError
from ..ported import PortedModel
from ..settings import made_config, vocabularies

PROGRESS = "How far the training is (trainer.json) stays behind: the optimizer goes on, the epochs count from the start."


def recognize(folder: Path) -> bool:
    return holds_checkpoint(folder)


def read(folder: Path, settings: Mapping[str, Any]) -> PortedModel:
    """The settings may change how the model decodes (``settings.DECODING``), and bring vocabularies."""
    try:
        checkpoint = read_checkpoint(folder)
        config = made_config(checkpoint.config.to_dict(), settings, {})
        Checkpoint(config=config, weights=checkpoint.weights).check()
    except (CheckpointError, ValueError) as error:
        raise PortError(str(error)) from None
    kept: dict[str, Any] = {
        "source_vocabulary": checkpoint.source_vocabulary,
        "target_vocabulary": checkpoint.target_vocabulary,
    }
    return PortedModel(
        config=config,
        weights=checkpoint.weights,
        optimizer=checkpoint.optimizer,
        notes=(PROGRESS,) if checkpoint.trainer else (),
        **{**kept, **vocabularies(settings)},
    )


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
