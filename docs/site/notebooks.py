"""Notebooks of the site: where their outputs are kept, how these are joined, and each notebook as a file for Jupyter."""

from __future__ import annotations

import shutil
from pathlib import Path

import jupytext
from myst_nb.core import render
from myst_nb.core.utils import coalesce_streams
from nbformat import NotebookNode
from sphinx.application import Sphinx

from transformer_mb.parity.worker import source_digest

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "docs-notebooks"


def kept_outputs() -> Path:
    """Return the folder of the outputs that today's package made; a changed package has another.

    So its notebooks run again, on pages that Sphinx reads again since its setting has changed.
    """
    return KEPT / source_digest()[:16]


def forget_older_outputs() -> None:
    """Remove what an earlier package's notebooks printed."""
    for path in KEPT.glob("*"):
        if path != kept_outputs():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join the pieces of each stream as they came, then do what MyST-NB does.

    A ``%%bash`` cell sends a hundred bytes at a time, and MyST-NB by itself would end a line after each.
    """
    streams: dict[str, NotebookNode] = {}
    whole = []
    for output in outputs:
        name = output["name"] if output["output_type"] == "stream" else ""
        if name in streams:
            streams[name]["text"] += output["text"]
            continue
        whole.append(NotebookNode(output))  # a copy, since a page may be made of the same outputs once more
        if name:
            streams[name] = whole[-1]
    return coalesce_streams(whole)


def write_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write each notebook beside its page as Jupyter has it, for the link under the page's title."""
    for page in sorted(path for path in (ROOT / "docs" / "notebooks").glob("*.md") if path.stem != "index"):
        if error is None and app.builder.format == "html":
            there = Path(app.outdir) / "notebooks" / f"{page.stem}.ipynb"
            there.parent.mkdir(exist_ok=True)
            jupytext.write(jupytext.read(page, fmt="md:myst"), there)


def setup(app: Sphinx) -> dict[str, bool]:
    """Join streams on every page, and write the files when the pages are finished."""
    render.coalesce_streams = joined
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
