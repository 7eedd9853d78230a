"""Six implementations on a page: what is shown is what the backends' files hold, and each difference has its sentence."""

import html
import re
import shutil

import pytest

from docs.site import twins
from docs.site.differences import differences, read_notes
from docs.site.recurring import RECURRING
from docs.site.six_ways import as_html, read_cuts
from docs.site.twins import BACKENDS, NAMES, cut
from site_pages import SIX_WAYS, explained, six_ways

UNITS = {f"{page.stem}: {unit[0]}": unit for page in SIX_WAYS for unit in six_ways(page)}


def shown_code(text, backend):
    """The lines of code in a panel of the HTML, as a browser shows them."""
    (panel,) = re.findall(rf'<section class="six-panel" data-backend="{backend}".*?</section>', text, re.DOTALL)
    (code, *_) = re.findall(r"<pre[^>]*>(.*?)</pre>", panel, re.DOTALL)
    without_marks = re.sub(r'<a class="six-mark".*?</a>', "", code)
    return html.unescape(re.sub(r"<[^>]+>", "", without_marks)).splitlines()


def test_there_are_ten_pages_with_a_formula_a_picture_and_figures():
    assert len(SIX_WAYS) == 10
    for page in SIX_WAYS:
        text = page.read_text()
        assert text.count("$$") >= 2 and "```{picture}" in text and "```{parity-figures}" in text and six_ways(page), page


@pytest.mark.parametrize("unit", UNITS)
def test_a_page_shows_the_lines_of_the_files(unit):
    cuts, found = explained(*UNITS[unit])
    text = as_html(cuts, found, "key", "title")
    for backend, parts in cuts.items():
        file = (BACKENDS.parent / parts[0].path).read_text().splitlines()[parts[0].first - 1 : parts[0].last]
        margin = len(file[0]) - len(file[0].lstrip())
        assert [line.rstrip() for line in shown_code(text, backend)] == [line[margin:].rstrip() for line in file]


@pytest.mark.parametrize("unit", UNITS)
def test_every_difference_has_a_sentence(unit):
    _, found = explained(*UNITS[unit])
    bare = [f"{one.cut.path}:{one.first}: {one.text}" for places in found.values() for one in places if not one.sentences]
    assert not bare, "a comment there, or a note on the page, must say why: " + "\n".join(bare)


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        ("# noqa: SIM210", None),
        ("# noqa", None),
        ("# noqa: B009, F401  # of X.shape tensors are made", "of X.shape tensors are made"),
        ("# noqa: F401 - first", "first"),
        ("# type: ignore[override] # the module's", "the module's"),
        ("# fmt: skip", None),
        ("# noqas and types: ignored", "noqas and types: ignored"),
        ("# at least -1", "at least -1"),
    ],
)
def test_what_a_comment_says_to_linters_is_no_explanation(comment, words):
    assert twins._comments((f"    x = 1  {comment}",)).get(1) == words


def test_a_changed_line_changes_its_page(tmp_path, monkeypatch):
    """The constant in ``_softmax_where`` of JAX, by another number in a copy of the backends."""
    given = six_ways(next(page for page in SIX_WAYS if page.stem == "attention"))[0]
    before = as_html(*explained(*given), "key", "title")
    shutil.copytree(BACKENDS, tmp_path / "backends")
    file = tmp_path / "backends" / "jax" / "attention.py"
    old, new = "weights = jax.nn.softmax(jnp.where(allowed,", "weights = 3.0 * jax.nn.softmax(jnp.where(allowed,"
    assert file.read_text().count(old) == 1
    file.write_text(file.read_text().replace(old, new))
    monkeypatch.setattr(twins, "BACKENDS", tmp_path / "backends")
    twins._source.cache_clear()
    try:
        after = as_html(*explained(*given), "key", "title")
    finally:
        twins._source.cache_clear()
    assert "3.0" not in "".join(shown_code(before, "jax")) and "3.0 *" in "\n".join(shown_code(after, "jax"))
    assert shown_code(before, "torch") == shown_code(after, "torch")


def test_a_renamed_method_is_an_error_that_names_it():
    with pytest.raises(LookupError, match=r"backends/torch/attention\.py must have MultiHeadAttention\.gone"):
        cut("torch", "attention.py", "MultiHeadAttention.gone")


def test_names_of_frameworks_and_annotations_are_no_difference():
    """``transpose_output`` of PyTorch and Paddle begin with the same check and the same reshape, but for types."""
    found = differences(read_cuts("attention.py: transpose_output", {}))
    assert all("check_parted" not in one.text for places in found.values() for one in places)
    assert all(places for places in found.values())


def test_a_note_about_lines_that_do_not_differ_is_refused():
    cuts = read_cuts("attention.py: transpose_qkv", {})
    with pytest.raises(LookupError, match="none holds it"):
        differences(cuts, read_notes(["torch: `check_unparted`: The same everywhere."], list(NAMES)))
    for line in ("torch `x`: no colon", "caffe: `x`: no such backend"):
        with pytest.raises(ValueError, match="A note must"):
            read_notes([line], list(NAMES))


def test_every_recurring_sentence_recurs():
    texts = {name: "\n".join(path.read_text() for path in (BACKENDS / name).glob("*.py")) for name in NAMES}
    assert not [note.fragment for note in RECURRING for name in note.backends if texts[name].count(note.fragment) < 2]
