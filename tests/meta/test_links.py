"""Links between the pages lead somewhere, to a file and to a heading of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests" / "README.md"]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page):
    """As GitHub makes them of headings: lower case, without punctuation, blanks to hyphens."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page):
    for file, anchor in LINK.findall(page.read_text()):
        there = page if not file else page.parent / file
        assert there.exists(), file
        assert not anchor or there.suffix != ".md" or anchor in anchors(there), f"{file}#{anchor}"
