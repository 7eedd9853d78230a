"""The picture of ``train --loss-curve``."""

from __future__ import annotations

from pathlib import Path

from ..errors import PictureError
from ..files.whole_file import check_writable
from ..training import TrainingRecipe, TrainingState
from .attention import loss_figure, require_matplotlib
from .files import check_ending, save_figure

LABELS = {"steps": "loss per target token, by D2L's count", "tokens": "loss per target token"}


def check_curve_path(path: Path | None) -> None:
    """Find out before training what cannot be drawn afterwards."""
    if path is None:
        return
    check_ending(path)
    if not path.absolute().parent.is_dir():
        raise PictureError(f"--loss-curve must name a file in a folder that exists, but there is no {path.absolute().parent}.")
    check_writable(path)
    require_matplotlib()


def draw_losses(path: Path | None, state: TrainingState, recipe: TrainingRecipe) -> None:
    """The losses of all finished epochs, those before a resume included; nothing before the first has ended."""
    if path is None or not state.history:
        return
    losses = [record.loss for record in state.history]
    save_figure(loss_figure(losses, f"Training, {len(losses)} epochs", LABELS[recipe.normalization]), path)
