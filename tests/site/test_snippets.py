"""What the pages tell a reader to type: commands and programs run in the order of the page, and print what it shows.

In what a page shows, ``...`` stands for any text, alone in a line for any lines, and a number for any number.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from site_pages import DOCS

BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+(?:\\?\.\d+)?(?:e\\?[-+]?\d+)?")
PAGES = [DOCS / "start.md", *sorted((DOCS / "tasks").glob("*.md")), *sorted((DOCS / "concepts").glob("*.md"))]
DOCUMENTS = [path for path in sorted((DOCS / "documents").glob("*.md")) if "```console" in path.read_text()]
ERRATA = (DOCS / "ERRATA.md").read_text()


def commands(block):
    """The lines after ``$ ``, and all others as what they print."""
    typed = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return typed, [line for line in block.splitlines() if not line.startswith("$ ")]


def pattern(shown):
    """A regular expression for output that a page shows."""
    parts = []
    for line in shown:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            words = NUMBER.sub(r"[-+\\d.e]+", re.escape(line.strip())).replace(r"\.\.\.", ".*")
            parts.append(r"[ \t]*" + re.sub(r"(?:\\ )+", "[ ]+", words) + r"[ \t]*\n")
    return re.compile("".join(parts) + r"\Z")


def run(kind, block, folder):
    root = str(DOCS.parent)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": root, "COLUMNS": "120"}
    typed, shown = commands(block) if kind == "console" else ([], ["..."])
    command = ["bash", "-ec", "\n".join(typed)] if kind == "console" else [sys.executable, "-c", block]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    assert pattern(shown).match(done.stdout), f"{block}\nprinted\n{done.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_snippets_of_a_page_run_in_its_order(page, tmp_path):
    blocks = BLOCK.findall(page.read_text())
    for kind, block in blocks:
        run(kind, block, tmp_path)


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.stem)
def test_what_the_page_of_a_document_shows_is_what_the_errata_show(page):
    """Whose commands tests/errata/ runs."""
    for _, block in BLOCK.findall(page.read_text()):
        (typed,), shown = commands(block)
        printed = re.search(rf"^\$ {re.escape(typed)}\n(.*?)^```$", ERRATA, re.MULTILINE | re.DOTALL)[1]
        assert pattern(shown).match(printed), f"{shown} in place of {printed}"


def test_the_pattern_tells_what_fits_from_what_does_not():
    fits = pattern(["...", "proof holds: error 1.7e-07 (at most 1e-05)", "..."])
    assert fits.match("reading\nproof holds: error 2e-08 (at most 1e-05)\n") and not fits.match(
        "proof fails: error 2 (at most 1)\n"
    )
    assert not pattern(["one"]).match("one\ntwo\n") and not pattern(["one", "two"]).match("one\n")


def test_a_snippet_that_fails_is_told(tmp_path):
    with pytest.raises(AssertionError, match="no such thing"):
        run("console", "$ echo no such thing; false\n...\n", tmp_path)
    with pytest.raises(AssertionError, match="printed"):
        run("console", "$ echo two\none\n", tmp_path)
