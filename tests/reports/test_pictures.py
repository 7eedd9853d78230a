"""The pictures of the README and of docs/ are those that benchmarks/results give, and say in words what they show."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from draw_pictures import PICTURES, main, picture  # noqa: E402
from pictures.look import save  # noqa: E402
from pictures.matrix import shares  # noqa: E402

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
DIFFERING = 2.0  # of 255, on average: another processor may round a color otherwise


def pixels(path):
    return np.asarray(Image.open(path).convert("RGB"), dtype=float)


@pytest.mark.parametrize("name", PICTURES)
def test_a_committed_picture_is_what_its_record_gives(name, tmp_path):
    save(picture(name), tmp_path / "drawn.png")
    drawn, committed = pixels(tmp_path / "drawn.png"), pixels(ROOT / "docs" / f"{name}.png")
    assert drawn.shape == committed.shape and np.abs(drawn - committed).mean() < DIFFERING


def test_a_picture_that_is_none_is_refused_by_name():
    with pytest.raises(SystemExit, match="must be one of parity, losses, attention, curves, got 'cells'"):
        main("cells")


def cell(error, limit, status="passed"):
    return {"row": "loss", "dtype": "float64", "backend": "torch", "error": error, "limit": limit, "status": status}


@pytest.mark.parametrize(
    ("cells", "share"),
    [
        ([cell(1e-13, 1e-12), cell(5e-13, 1e-12)], 0.5),
        ([cell(1e-13, 1e-12), cell(None, None)], 0.1),
        ([cell(0.0, 0.0)], None),
        ([cell(1e-13, 1e-12), cell(None, None, "failed")], 1.01),
        ([cell(3e-12, 1e-12, "failed")], 3.0),
    ],
)
def test_a_square_of_the_heat_map_is_its_worst_cell(cells, share):
    (found,) = shares(cells).values()
    assert found == (share if share is None else pytest.approx(share))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_picture_of_a_page_says_what_it_shows(page):
    for words, _ in re.findall(r"!\[(.*?)\]\((.+?)\)", page.read_text()):
        assert len(words.split()) >= 6, words
