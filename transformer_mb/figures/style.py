"""The style of all figures: matplotlib itself, fonts for every alphabet, and text that is drawn as it is."""

from __future__ import annotations

from typing import Any

from ..errors import PictureError
from ..extras import install_command
from ..printable import printable

# For characters that matplotlib's own font lacks: the first of these that is installed.
WIDE_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "Arial Unicode MS",
)


def require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise PictureError(
            f"Pictures need matplotlib, which is not installed. Install it with: {install_command('report')}."
        ) from None


def new_figure() -> Any:
    require_matplotlib()
    from matplotlib.figure import Figure

    # Figure itself rather than pyplot: no window system is asked for, and no figure is kept after its last use.
    return Figure(layout="constrained")


def fonts() -> dict[str, list[str]]:
    """The text property that lets other alphabets fall back to fonts that have them."""
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names())
    return {"fontfamily": ["DejaVu Sans", *(font for font in WIDE_FONTS if font in installed), "sans-serif"]}


def plain(text: str) -> str:
    """Escape what matplotlib would read as mathematics, between two dollar signs, and what XML has no place for."""
    return printable(text).replace("$", r"\$")
