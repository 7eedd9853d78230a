"""Our Sphinx extension: the directives of the pages, and pages that are files of the repository's root."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

from .answers import Answers
from .api import filled
from .drawings import Picture
from .measured import write_measured
from .parity_figures import ParityFigures
from .six_ways import SixWays

ROOT = Path(__file__).parents[2]
# Pages whose text is a file outside docs/, which is read in the place of the page's own.
ELSEWHERE = {"readme": "README.md", "contributing": "CONTRIBUTING.md", "tests": "tests/README.md"}
LINK = re.compile(r"(!?)\[([^\]]+)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def read_source(app: Sphinx, name: str, source: list[str]) -> None:
    """Read the text of a page, and turn its links into links of the site."""
    here = ROOT / "docs" / f"{name}.md"
    if name in ELSEWHERE:
        here = ROOT / ELSEWHERE[name]
        source[0] = here.read_text(encoding="utf-8")
    page = ROOT / "docs" / f"{name}.md"
    source[0] = filled(source[0])
    folder, _, stem = name.rpartition("/")
    if folder == "notebooks" and stem != "index":
        link = f'<a href="{stem}.ipynb" download>As a Jupyter notebook</a>'
        source[0] = re.sub(r"^(# .+)$", rf"\1\n\n{link}", source[0], count=1, flags=re.MULTILINE)
    source[0] = LINK.sub(lambda found: _link(found, here.parent, page.parent), source[0])


def _link(found: re.Match[str], here: Path, page: Path) -> str:
    """The same link, from the page that holds it: to a page, to a file that can be downloaded, or none to a folder."""
    picture, text, target, anchor = found[1], found[2], found[3], found[4] or ""
    there = (here / target).resolve()
    if there.is_dir():
        return f"`{text}`"
    for name, file in ELSEWHERE.items():
        if there == (ROOT / file).resolve():
            there = ROOT / "docs" / f"{name}.md"
    if not there.exists():  # Sphinx says so, with the line
        return found[0]
    return f"{picture}[{text}]({os.path.relpath(there, page)}{anchor})"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what the pages use."""
    app.add_directive("six-ways", SixWays)
    app.add_directive("parity-figures", ParityFigures)
    app.add_directive("picture", Picture)
    app.add_directive("answers", Answers)
    app.connect("source-read", read_source)
    app.connect("build-finished", write_measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
