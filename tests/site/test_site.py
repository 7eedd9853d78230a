"""The whole site as Sphinx makes it: nothing to complain about, and every public name has its entry."""

from docs.site.finished import complaints
from site_pages import DOCS

FROZEN = (DOCS.parent / "tests" / "meta" / "frozen" / "public_names.txt").read_text().split()


def test_sphinx_warns_of_nothing(built):
    assert built[1].strip() == ""


def test_no_link_is_dead_and_every_public_name_has_an_entry(built):
    assert complaints(built[0], FROZEN) == []


def test_a_public_name_without_an_entry_is_told(built):
    assert complaints(built[0], ["transformer_mb.gone"]) == ["The public name transformer_mb.gone has no entry on any page."]


def test_the_pages_ask_nothing_of_others_and_formulas_are_mathml(built):
    page = (built[0] / "six_ways" / "attention.html").read_text()
    assert "<math" in page and 'src="http' not in page and "mathjax@" not in page
