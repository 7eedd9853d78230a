"""The check of a finished site finds what is planted into one, and every public module has its page."""

import re

import pytest

from docs.site.finished import complaints
from site_pages import DOCS

FROZEN = (DOCS.parent / "tests" / "meta" / "frozen" / "public_names.txt").read_text().split()
GOOD = '<html><body><h1 id="top">A</h1><a href="other.html#here">B</a><img src="data:image/png;base64,"></body></html>'


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "other.html").write_text('<html><p id="here"></p><a href="index.html#top"></a></html>')
    return tmp_path


def test_a_good_site_has_no_complaints(site):
    assert complaints(site) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("other.html#here", "gone.html", "gone.html, which does not exist"),
        ("other.html#here", "other.html#gone", "other.html#gone, where nothing has this name"),
        ("<h1", '<script src="https://cdn.example/x.js"></script><h1', "loads https://cdn.example/x.js"),
        ("<h1", '<link rel="stylesheet" href="//fonts.example/a.css"><h1', "loads //fonts.example/a.css"),
    ],
)
def test_what_is_planted_is_found(site, old, new, words):
    (site / "index.html").write_text(GOOD.replace(old, new))
    (found,) = complaints(site)
    assert words in found


def test_every_public_module_is_on_a_page():
    pages = "".join(path.read_text() for path in (DOCS / "api").glob("*.md"))
    shown = set(re.findall(r"^\{\{ (\S+) \}\}$", pages, re.MULTILINE))
    assert {name.rpartition(".")[0] for name in FROZEN} <= shown


def test_every_page_is_in_the_contents():
    """Sphinx says so too; this says it at once."""
    listed = set()
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.DOTALL):
            lines = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
            entries = [re.sub(r".*<(.+)>$", r"\1", line) for line in lines]
            listed |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    pages = {path.resolve() for path in DOCS.rglob("*.md")} - {(DOCS / "index.md").resolve()}
    assert pages == listed
