"""Pictures and figures of the pages: computed by NumPy's backend and read from the committed matrix."""

import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from docs.site.answers import RESULTS, anchor, table
from docs.site.drawings import DRAWINGS
from docs.site.drawings_of_parity import mistakes
from docs.site.parity_figures import as_html, chosen, measured, nearest
from docs.site.pictures import Grid, Step, picture
from site_pages import DOCS, SIX_WAYS


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_picture_is_well_formed_has_words_and_is_used(name):
    figure = ElementTree.fromstring(DRAWINGS[name]())
    assert len(figure[0].get("aria-label")) > 40 and figure[1].text == figure[0].get("aria-label")
    assert len(list(figure.iter("rect"))) >= 20
    assert any(f"```{{picture}} {name}\n" in page.read_text() for page in DOCS.rglob("*.md"))


def test_a_grid_shades_by_size_colours_by_sign_and_crosses_out():
    values = np.array([[2.0, -1.0, 0.5]])
    text = picture([[Grid("X", ("T", "D"), values, hidden=np.array([[False, False, True]])), Step("=")]], "three numbers")
    cells = [(one.get("class"), one.get("fill-opacity")) for one in ElementTree.fromstring(text).iter("rect")]
    assert cells == [("cell plus", "1.00"), ("cell minus", "0.50"), ("cell hidden", "1.00")]
    assert "[T, D] = [1, 3]" in text


@pytest.mark.parametrize("page", SIX_WAYS, ids=lambda page: page.stem)
def test_the_patterns_of_a_page_find_cells_of_all_six_backends(page):
    (block,) = page.read_text().split("```{parity-figures}\n")[1:]
    patterns = block.split("```")[0].split("\n")[:-1]
    for pattern in patterns:
        cells = chosen(measured()["results"], [pattern])
        assert {one["backend"] for one in cells} == {"numpy", "torch", "tensorflow", "paddle", "mxnet", "jax"}, pattern


def test_the_figure_is_that_which_came_closest_to_its_limit():
    cells = [
        {
            "row": "r",
            "case": "a",
            "dtype": "float32",
            "backend": "torch",
            "status": "passed",
            "reason": "",
            "error": 2.0,
            "limit": 10.0,
        },
        {
            "row": "r",
            "case": "b",
            "dtype": "float32",
            "backend": "torch",
            "status": "passed",
            "reason": "",
            "error": 1.0,
            "limit": 2.0,
        },
    ]
    assert nearest(cells, "r", "float32", "torch")["case"] == "b"
    text = as_html(cells, [{"caught": True}, {"caught": False}])
    assert "2 of 2 cells passed, 1 of 2 planted mistakes were caught" in text and "1.0e+00<br>50%" in text


def test_answers_are_those_of_the_committed_run_and_lead_to_their_facts():
    facts = json.loads(RESULTS.read_text())["behaviours"]
    text = table(["boolean mask of the attention layer", "layer norm epsilon"], facts, "page.md")
    assert "| [boolean mask of the attention layer](page.md#boolean-mask-of-the-attention-layer) | set is ignored |" in text
    assert "| has none |" in text and "| 1e-05 | 0.001 |" in text and "NumPy" not in text
    with pytest.raises(LookupError, match="these are none: \\['no such thing'\\]"):
        table(["no such thing"], facts, "page.md")
    headings = re.findall(r"^### (.+)$", (DOCS / "BEHAVIOURS.md").read_text(), re.MULTILINE)
    assert {anchor(name.lower()) for name in {one["probe"] for one in facts}} == {anchor(one) for one in headings}


def test_mistakes_lie_where_the_picture_of_parity_says():
    """In float64 beyond every cell of a layer; in float32 another epsilon is within what rounding does."""
    errors = {
        dtype: [one["error"] for one in measured()["results"] if one["row"].startswith("layer ") and one["dtype"] == dtype]
        for dtype in ("float64", "float32")
    }
    wrong = mistakes()
    assert all(error < 1e-10 for error in errors["float64"]) and all(error > 1e-10 for error in wrong.values())
    assert any(error > wrong["epsilon 1e-6 for 1e-5"] for error in errors["float32"])
    assert all(error < wrong["a mask off by one"] for error in errors["float32"])
