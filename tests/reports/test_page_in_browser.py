"""The report in Debian's Chromium: narrow and wide, light and dark, by keyboard alone, with nothing asked of any network."""

import json
import re
from pathlib import Path

import pytest

from browser import findings, overflows
from reports.records import ATTENTION, RESULTS, WITHIN

TABS = (
    "matrix",
    "matrix-on-nvidia-h200",
    "behaviours",
    "effects",
    "runs",
    "speed",
    "costs",
    "check",
    "comparisons",
    "attention",
)
CELL = "torch, layer forward: layer norm [float32]"
WINDOWS = [("phone", "light"), ("phone", "dark"), ("wide", "dark"), ("wide", "light")]


def panel(page):
    return page.locator('section[role="tabpanel"]:visible')


@pytest.mark.long(but=2)  # the first and the third: both sizes and both looks
@pytest.mark.parametrize(("size", "scheme"), WINDOWS)
def test_every_part_is_accessible_and_no_wider_than_its_window(size, scheme, visit, address):
    page = visit(address, size, scheme)
    for name in TABS:
        page.locator(f"#tab-{name}").click()
        assert panel(page).get_attribute("id") == name and overflows(page) <= 0, name
        for box in panel(page).locator('input[type="search"]').all():  # axe looks at each element, and fewer are as many kinds
            box.fill("epsilon")
        assert findings(page) == {}, name


@pytest.mark.long(but=2)  # the first and the third: both sizes and both looks
@pytest.mark.parametrize(("size", "scheme"), WINDOWS)
def test_a_cell_in_full_is_accessible(size, scheme, visit, address):
    page = visit(f"{address}#cell={CELL}", size, scheme)
    assert page.locator("dialog h2").inner_text() == CELL
    assert findings(page) == {} and overflows(page) <= 0


def test_the_verdict_and_the_matrix_are_on_the_first_screen(visit, address):
    page = visit(address)
    assert "Not all that was judged holds." in page.title()
    assert re.search(r"All [\d,]+ cells agree with the float64 reference", page.locator(".verdicts").inner_text())
    assert page.locator("#matrix .figure").first.bounding_box()["y"] < 900


def test_tabs_are_switched_by_arrows(visit, address):
    page = visit(address)
    page.keyboard.press("Tab")  # the links of the verdicts come first
    page.locator("#tab-matrix").focus()
    for name in (*TABS[1:], TABS[0]):
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == f"tab-{name}" and panel(page).get_attribute("id") == name
    page.keyboard.press("End")
    assert panel(page).get_attribute("id") == "attention" and page.url.endswith("#attention")


def test_a_cell_is_filtered_opened_and_left_by_keyboard_alone(visit, address):
    page = visit(address)
    page.locator("#tab-matrix").focus()
    for _ in range(3):  # over the panel to the filter
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "search":
            break
    page.keyboard.type("layer forward layer norm")
    count = page.locator("#matrix .count").inner_text()
    names = [f"{cell['row']}: {cell['case']}" for cell in json.loads((RESULTS / "parity_cpu.json").read_text())["results"]]
    expected = sum(all(word in name for word in ("layer", "forward", "norm")) for name in names)
    assert 0 < expected < len(names) and count == f"{expected} of {len(names):,} cells, none failed.", count
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className").startswith("opener"):
            break
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("Enter")
    title = page.locator("dialog[open] h2").inner_text()
    assert label.startswith(title) and "#cell=" in page.url
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0 and page.url.endswith("#matrix")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == label


def test_a_row_opens_and_closes_by_keyboard(visit, address):
    page = visit(address)
    opener = page.locator("#matrix .opener").first
    opener.focus()
    before = page.locator("#matrix tr.case").count()
    page.keyboard.press("Enter")
    cases = page.locator("#matrix tr.case").count()
    page.keyboard.press("Space")
    assert before == 0 < cases and page.locator("#matrix tr.case").count() == 0


def test_the_address_of_a_cell_opens_it_with_the_command_that_repeats_it(visit, address):
    page = visit(f"{address}#cell={CELL}")
    text = page.locator("dialog[open]").inner_text()
    assert "transformer-mb parity --backends torch --seed" in text and "--cases 'layer forward: layer norm [float32]'" in text
    assert "of the limit" in text and "Planted mistakes" in text
    again = visit(page.url)
    assert again.locator("dialog[open] h2").inner_text() == CELL


def test_a_cell_of_the_second_matrix_has_an_address_too(visit, address):
    page = visit(f"{address}#matrix-on-nvidia-h200")
    page.locator("#matrix-on-nvidia-h200 .figure").first.click()
    title = page.locator("dialog[open] h2").inner_text()
    assert "#cell=matrix-on-nvidia-h200/" in page.url and visit(page.url).locator("dialog[open] h2").inner_text() == title


def test_the_filters_leave_what_they_say(visit, address):
    page = visit(address)
    matrix = page.locator("#matrix")
    matrix.get_by_role("combobox", name="Backend", exact=True).select_option("jax")
    matrix.get_by_role("combobox", name="Dtype", exact=True).select_option("float64")
    heads = matrix.locator("thead th").all_inner_texts()
    assert heads[1:] == ["jax"] and all("float64" in text for text in matrix.locator(".opener").all_inner_texts())
    matrix.get_by_role("combobox", name="Status", exact=True).select_option("failed")
    assert matrix.locator(".figure").count() == 0 and matrix.locator(".count").inner_text().startswith("0 of")


def test_the_heat_map_switches_layer_and_head_by_keyboard(visit, address):
    page = visit(f"{address}#attention")
    weights = lambda: page.locator(".heat tbody tr").first.locator("td").all_inner_texts()  # noqa: E731
    assert page.locator(".heat thead th").all_inner_texts() == ATTENTION["source"]
    assert weights() == [".25", ".25", "0", ".50"]  # the mean of the second layer's heads
    page.locator('input[name="attention-head"]:checked').focus()
    page.keyboard.press("ArrowRight")
    assert weights() == ["0", "0", "0", "1.00"]
    page.locator('input[name="attention-layer"]:checked').focus()
    page.keyboard.press("ArrowLeft")
    assert weights() == ["1.00", "0", "0", "0"]
    page.get_by_label("Sentence").select_option("1")
    assert page.locator(".heat tbody th").first.inner_text() == "elle"


def test_the_heat_map_shows_what_looks_within_a_side_by_keyboard(visit, address):
    page = visit(f"{address}#attention")
    kind = page.locator('input[name="attention-kind"]:checked')
    kind.focus()
    page.keyboard.press("ArrowRight")
    assert (
        page.locator(".heat tbody th").all_inner_texts()
        == page.locator(".heat thead th").all_inner_texts()
        == ATTENTION["source"]
    )
    assert page.locator(".heat tbody tr").last.locator("td").all_inner_texts() == ["1.00", "0", "0", "0"]
    assert page.locator('input[name="attention-head"]').count() == 2  # the mean, and one
    page.keyboard.press("ArrowRight")
    assert page.locator(".heat thead th").all_inner_texts() == WITHIN["inputs"]
    assert page.locator(".heat tbody tr").last.locator("td").all_inner_texts() == [".50", "0", ".50"]
    assert findings(page) == {} and "none looks ahead" in page.locator(".heat caption").inner_text()
    page.get_by_label("Sentence").select_option("1")  # of which the file has the cross-attention alone
    assert kind.count() == 0 and page.locator(".heat tbody th").first.inner_text() == "elle"


def test_the_losses_of_one_backend_are_chosen_by_keyboard(visit, address):
    page = visit(f"{address}#runs")
    chart = page.locator("#runs figure svg[role='img']").first
    assert chart.locator(".line").count() == 6 and chart.locator(".thin").count() == 72  # twelve seeds of each
    page.locator('input[name="curve"]:checked').focus()
    page.keyboard.press("ArrowRight")
    assert chart.locator(".line").count() == 1 and chart.get_attribute("aria-label").startswith("Loss per token by step: numpy")


def test_behaviours_are_sorted_by_effect_and_open_to_what_they_mean(visit, address):
    page = visit(f"{address}#behaviours")
    first = page.locator(".fact").first
    assert "SGD learning rate" in first.inner_text()  # the largest of docs/EFFECTS.md
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert "moves the loss by −6.84" in first.locator(".more").inner_text()
    page.locator("#behaviours").get_by_label("Search").fill("layer norm epsilon")
    names = page.locator("#behaviours .fact b").all_inner_texts()
    assert "layer norm epsilon" in names and len(names) < 10


def test_a_check_shows_the_first_module_that_is_wrong_and_what_went_unnoticed(visit, address):
    text = visit(f"{address}#check").locator("#check").inner_text()
    assert "flax Block differs from torch TransformerEncoderLayer, in 3 draws; 1 of 2 planted mistakes were caught." in text
    assert "✗ norm1: forward own 2e-3; inherited 1.0e-16 ← the first that is wrong by itself" in text
    assert "✗ went unnoticed" in text and "weaker: no float64" in text


def test_a_comparison_of_a_test_opens_to_its_check(visit, address):
    page = visit(f"{address}#comparisons")
    assert page.locator("#comparisons details").count() == 2 and page.locator("#comparisons table").count() == 0
    page.locator("#comparisons summary").first.focus()
    page.keyboard.press("Enter")
    page.locator("#comparisons table").first.wait_for()
    assert "test_port.py::one" in page.locator("#comparisons details").first.inner_text()


def test_a_cell_is_copied_as_markdown_and_the_data_saved_as_json(visit, address):
    page = visit(f"{address}#cell={CELL}", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the cell as Markdown").click()
    page.get_by_text("copied", exact=True).wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith(f"**{CELL}**: passed\n\n- figure ")
    page.keyboard.press("Escape")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the data as JSON").click()
    sections = json.loads(Path(saved.value.path()).read_text())["sections"]
    assert len(sections) == len(TABS) and len(sections[0]["data"]["cells"]) > 5000


def test_on_paper_every_part_is_there(visit, address):
    page = visit(address)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator('section[role="tabpanel"]:visible').count() == len(TABS)
    assert page.locator(".tools:visible").count() == 0


def test_without_its_script_the_page_says_what_came_out(visit, address):
    page = visit(address, java_script_enabled=False)
    text = page.locator("body").inner_text()
    assert "Not all that was judged holds." in text and "which this browser does not run" in text


@pytest.mark.long
def test_the_first_screen_is_there_within_a_second(visit, address):
    """The best of three: other tests share the processors."""
    assert min(int(visit(address).locator("html").get_attribute("data-ready")) for _ in range(3)) <= 1000
