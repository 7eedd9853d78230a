"""Figures as files: PNG, SVG, or an HTML page of its own that needs no network. Written whole or not at all."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..errors import PictureError
from ..files.whole_file import check_result_file, replaced_file, write_whole
from ..printable import printable
from .style import require_matplotlib

ENDINGS = (".png", ".svg", ".html")
DOTS = 120  # per inch
IDS = re.compile(r"""(\bid="|href="#|url\(#)""")  # where an SVG element's tags define and use them

PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>body {{ font-family: sans-serif; margin: 2em }} svg {{ max-width: 100%; height: auto }}</style>
{figures}
</html>
"""


def check_ending(path: Path, endings: Sequence[str] = ENDINGS, what: str = "The file") -> str:
    """The ending of a file in lower case; raises PictureError for one that is not among ``endings``."""
    ending = path.suffix.lower()
    if ending not in endings:
        raise PictureError(f"{what} must end in one of {', '.join(endings)}, got {str(path)!r}.")
    return ending


def check_figure_path(
    path: Path | None, option: str, others: Sequence[str] = (), force: bool = False, never: Iterable[Path | str | None] = ()
) -> None:
    """Find out before any work what cannot be drawn after it.

    ``others`` are endings that need no matplotlib; ``force`` and ``never`` as in ``check_result_file``.
    """
    if path is None:
        return
    ending = check_ending(path, (*others, *ENDINGS), option)
    check_result_file(path, force, never)
    if ending in ENDINGS:
        require_matplotlib()


def save_figure(figure: Any, path: Path | str, source: str | None = None) -> None:
    """Write a matplotlib Figure as its file's ending says; raises PictureError for an ending that nothing here writes.

    ``source``: by whom it is, which the file holds unseen.
    """
    known = {"metadata": {"Source": source}} if source else {}
    path = Path(path)
    if check_ending(path) == ".html":
        save_page([as_svg(figure, **known)], path)
        return
    with replaced_file(path) as file:
        if path.suffix.lower() == ".svg":
            file.write(as_svg(figure, **known).encode("utf-8"))
        else:
            _draw(figure, file, format="png", dpi=DOTS, **known)


def save_page(documents: Iterable[str], path: Path) -> None:
    """Figures as ``as_svg`` gives them, one below the other, in one HTML page."""
    elements = (_element(document, f"figure{number}-") for number, document in enumerate(documents, start=1))
    drawn = "\n".join(f"<figure>{element}</figure>" for element in elements)
    write_whole(path, PAGE.format(title=html.escape(printable(path.stem)), figures=drawn))


def as_svg(figure: Any, **options: Any) -> str:
    """An SVG document whose text stays text: it can be searched, and its viewer finds a font for every alphabet."""
    import matplotlib

    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        _draw(figure, stream, format="svg", **options)
    return stream.getvalue()


def _draw(figure: Any, file: Any, **options: Any) -> None:
    """A glyph that no font here has is drawn as a box: nothing that the user could mend in our code, so it is not said."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="matplotlib")
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(file, **options)


def _element(document: str, prefix: str) -> str:
    """The ``<svg>`` element alone, as it may stand in an HTML page: among others, whose ids must not be its own."""
    element = document[document.index("<svg") :]
    return re.sub(r"<[^<>]*>", lambda tag: IDS.sub(rf"\g<1>{prefix}", tag[0]), element)
