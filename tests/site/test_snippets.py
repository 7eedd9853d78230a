"""What the pages tell a reader to type: commands and programs run in the order of the page, and print what it shows."""

import re
import shutil

import pytest
from reader.made import MAKERS
from reader.shown import ELSEWHERE, OF_THE_READER, PAGES
from reader.snippets import BLOCK, commands, pattern, run

from site_pages import DOCS

ROOT = DOCS.parent
ALONE = [DOCS / "start.md", *sorted((DOCS / "tasks").glob("*.md")), *sorted((DOCS / "concepts").glob("*.md"))]
DOCUMENTS = [path for path in sorted((DOCS / "documents").glob("*.md")) if "```console" in path.read_text()]
ERRATA = (DOCS / "ERRATA.md").read_text()
# The demo takes minutes beside other work: its first epoch shows the same.
SOONER = {"demo --out": "demo --epochs 1 --out"}


def blocks_of(path):
    return BLOCK.findall((ROOT / path).read_text())


def stood_in(block, table):
    for old, new in table.items():
        block = block.replace(old, new)
    return block


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)], ids=["soon", "whole"])
def test_the_demo_of_the_first_page_runs(whole, tmp_path):
    for kind, block in blocks_of("docs/start.md"):
        sooner = stood_in(block, {} if whole else SOONER)
        run(kind, sooner, tmp_path, shown=None if whole else ["..."])


@pytest.mark.parametrize("page", ALONE[1:], ids=lambda page: page.stem)
def test_the_snippets_of_a_page_run_in_its_order(page, tmp_path):
    for kind, block in blocks_of(page):
        run(kind, block, tmp_path)


@pytest.mark.parametrize("path", [pytest.param(path, marks=[pytest.mark.long] * row.long) for path, row in PAGES.items()])
def test_the_commands_of_an_older_page_run(path, tmp_path, request):
    row = PAGES[path]
    for need in row.needs:
        if need == "model":
            shutil.copytree(request.getfixturevalue("trained"), tmp_path / "model")
        else:
            MAKERS[need](tmp_path)
    for kind, block in blocks_of(path):
        if kind == "python" and not row.python:
            run(kind, block, tmp_path)
        elif kind == "console":
            typed = [one for one in commands(block)[0] if not any(one.startswith(start) for start in row.not_here)]
            _, shown = commands(block)
            there = stood_in("".join(f"$ {one}\n" for one in typed), row.here)
            if row.abridged:
                shown = [line for one in shown for line in ("...", one)] + ["..."]
            run(kind, there, tmp_path, shown=shown if any(line.strip() for line in shown) else ["..."])


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


def test_a_command_goes_on_after_a_backslash():
    assert commands("$ one \\\n    --two\n   $ three\nfour\n") == (["one --two", "three"], ["four"])


def test_a_snippet_that_fails_is_told(tmp_path):
    with pytest.raises(AssertionError, match="no such thing"):
        run("console", "$ echo no such thing; false\n...\n", tmp_path)
    with pytest.raises(AssertionError, match="printed"):
        run("console", "$ echo two\none\n", tmp_path)


PAGES_WITH_COMMANDS = re.compile(r"^(?: *\$ |    )?(?:transformer-mb|python -m|pip install|pytest) ", re.MULTILINE)
LISTED = {*PAGES, *ELSEWHERE, *OF_THE_READER, "CONTRIBUTING.md", "tests/README.md"}


def test_every_page_with_commands_has_its_row():
    pages = [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    own = {path.relative_to(ROOT).as_posix() for path in [*ALONE, *DOCUMENTS, *(DOCS / "notebooks").glob("*.md")]}
    shown = {path.relative_to(ROOT).as_posix() for path in pages if PAGES_WITH_COMMANDS.search(path.read_text())}
    assert shown - own <= LISTED, f"give {sorted(shown - own - LISTED)} a row in tests/reader/shown.py"


@pytest.mark.parametrize("path", PAGES)
def test_a_row_speaks_of_what_its_page_shows(path):
    """A word that nothing holds any more, and commands in a block that is not run because it says nothing of its kind."""
    row, text = PAGES[path], (ROOT / path).read_text()
    typed = [one for kind, block in blocks_of(path) if kind == "console" for one in commands(block)[0]]
    assert typed and all(any(one.startswith(start) for one in typed) for start in row.not_here)
    assert all(any(word in one for one in typed) for word in row.here)
    others = re.findall(r"^ *```(?:sh)?\n(.*?)^ *```$", BLOCK.sub("", text), re.MULTILINE | re.DOTALL)
    assert not [block for block in others if PAGES_WITH_COMMANDS.search(block)]


def test_what_is_said_to_run_elsewhere_is_there():
    tests = {*ELSEWHERE.values(), *(row.python for row in PAGES.values() if row.python)}
    assert all((ROOT / path).exists() for path in tests)
