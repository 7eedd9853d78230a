"""Pictures where matplotlib is installed; without it an example says so and goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformer_mb.errors import PictureError
from transformer_mb.figures.attention import attention_figure
from transformer_mb.figures.curves import curve_figure, loss_figure
from transformer_mb.figures.files import save_figure
from transformer_mb.figures.kind import Attention


def curve_picture(path: Path, xs: Any, ys: Any, *, x: str, y: str, title: str) -> None:
    _save(path, lambda: curve_figure(xs, ys, x=x, y=y, title=title))


def attention_picture(path: Path, kinds: list[Attention], title: str) -> None:
    _save(path, lambda: attention_figure(kinds, title))


def loss_picture(path: Path, losses: list[float], title: str, label: str) -> None:
    _save(path, lambda: loss_figure(losses, title, label))


def _save(path: Path, draw: Any) -> None:
    try:
        save_figure(draw(), path)
    except PictureError as error:
        print(f"{path.name} is not drawn: {error}")
    else:
        print(f"drawn: {path}")
