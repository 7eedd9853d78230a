"""The site in a browser, on a phone and wide, light and dark: nothing asked of others, and usable by keyboard alone."""

import pytest

from browser import findings, overflows
from site_pages import SIX_WAYS

PAGES = ("index", "start", "six_ways/attention", "concepts/masks", "concepts/parity", "BEHAVIOURS", "api/data")


def opened(address, visit, page, **options):
    return visit(f"{address}/{page}.html", within=address, **options)


@pytest.mark.long(but=5)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_serious_finding(address, visit, page, scheme):
    shown = opened(address, visit, page, scheme=scheme)
    assert findings(shown) == {}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_a_phone(address, visit, page):
    assert overflows(opened(address, visit, page, size="phone")) <= 0


@pytest.mark.long(but=3)
@pytest.mark.parametrize("page", SIX_WAYS, ids=lambda page: page.stem)
def test_two_implementations_stand_side_by_side(address, visit, page):
    shown = opened(address, visit, f"six_ways/{page.stem}")
    panels = shown.locator(".six-ways").first.locator(".six-panel:visible")
    first, second = (panels.nth(n).bounding_box() for n in range(2))
    assert panels.count() == 2 and first["y"] == second["y"] and first["x"] + first["width"] <= second["x"]


def test_the_tabs_work_by_keyboard_and_hold_for_the_whole_page(address, visit):
    shown = opened(address, visit, "six_ways/attention")
    tabs = shown.locator('[role="tab"][aria-selected="true"]')
    assert set(tabs.all_text_contents()) == {"PyTorch"}
    tabs.first.focus()
    shown.keyboard.press("ArrowRight")
    assert set(tabs.all_text_contents()) == {"TensorFlow"} and tabs.count() == 3
    shown.keyboard.press("End")
    assert set(tabs.all_text_contents()) == {"JAX"}
    shown.keyboard.press("Home")
    assert shown.evaluate("document.activeElement.textContent") == "NumPy"
    assert shown.locator('.six-panel[data-backend="numpy"]:visible').count() == 3
    shown.reload()
    assert set(tabs.all_text_contents()) == {"NumPy"}


def test_a_link_to_a_difference_opens_its_framework(address, visit):
    shown = opened(address, visit, "six_ways/attention")
    assert not shown.locator('.six-panel[data-backend="mxnet"]').first.is_visible()
    target = shown.locator('.six-panel[data-backend="mxnet"] .six-why li').first.get_attribute("id")
    shown.evaluate("id => { location.hash = id; }", target)
    shown.locator(f"#{target}").wait_for(state="visible")


def test_behaviours_are_found_by_words_and_by_framework(address, visit):
    shown = opened(address, visit, "BEHAVIOURS")
    facts = shown.locator("section section section:visible")
    everything = facts.count()
    shown.locator('.filter input[type="search"]').focus()
    shown.keyboard.type("layer norm epsilon")
    assert 1 <= facts.count() < everything and shown.locator("section#layer-norm-epsilon").is_visible()
    shown.keyboard.press("Tab")
    for _ in range(2):
        shown.keyboard.press("Tab")
    shown.keyboard.press("Space")
    assert shown.locator('.filter input[value="tensorflow"]').is_checked()
    assert shown.locator("section#layer-norm-epsilon").is_visible()
    assert "facts" in shown.locator(".filter output").inner_text()


@pytest.mark.parametrize("sought", ["layer norm epsilon", ""])
def test_a_filter_leaves_only_hits_with_their_headings_and_its_end_brings_all_back(address, visit, sought):
    shown = opened(address, visit, "BEHAVIOURS")
    search, box = shown.locator('.filter input[type="search"]'), shown.locator('.filter input[value="paddle"]')
    headings = shown.locator("section section:visible > h2")
    links = shown.locator('.toc-tree a[href^="#"]:visible')
    everything = headings.count(), links.count()
    search.fill(sought)
    box.set_checked(not sought)
    hits = shown.locator("section section section:visible")
    assert shown.locator("section#facts-that-surprise").is_hidden() and 0 < headings.count() < everything[0]
    assert shown.locator("section section:visible:not(:has(section:visible)):not(section section section)").count() == 0
    assert links.count() == hits.count() + headings.count()
    form = shown.locator(".filter").bounding_box()
    assert hits.first.bounding_box()["y"] - form["y"] - form["height"] < 200
    search.fill(" ")
    box.uncheck()
    assert (headings.count(), links.count()) == everything and shown.locator("section#facts-that-surprise").is_visible()


@pytest.mark.parametrize(
    ("ticked", "listed"),
    [
        (["torch"], False),  # as most
        (["tensorflow"], True),
        (["torch", "tensorflow"], True),
        (["torch", "paddle"], False),  # both 1e-05
        (["tensorflow", "numpy"], False),  # NumPy has no such layer
        (["torch", "paddle", "jax"], True),
    ],
)
def test_of_several_ticked_frameworks_the_answers_must_differ_from_each_other(address, visit, ticked, listed):
    """The layer norm's epsilon is 1e-05 in PyTorch, Paddle and MXNet, 0.001 in Keras, and 1e-06 in flax."""
    shown = opened(address, visit, "BEHAVIOURS")
    shown.locator('.filter input[type="search"]').fill("layer norm")
    group = shown.get_by_role("group", name="differ from each other")
    for name in ticked:
        group.locator(f'input[value="{name}"]').check()
    assert shown.locator("section#layer-norm-epsilon").is_visible() == listed
    facts = shown.locator("section section section:visible").count()
    assert shown.get_by_role("status").inner_text().startswith(f"{facts} of " if facts else "No fact")


@pytest.mark.parametrize("words", ["LayerNorm epsilon keras", "layer-norm pytorch epsilon", "layer_norm flax eps"])
def test_behaviours_are_found_by_the_names_that_readers_type(address, visit, words):
    shown = opened(address, visit, "BEHAVIOURS")
    shown.locator('.filter input[type="search"]').fill(words)
    assert shown.locator("section#layer-norm-epsilon").is_visible()
    assert shown.locator("section section section:visible").count() <= 20
    shown.locator('.filter input[type="search"]').fill("no such fact at all")
    assert shown.locator(".filter output").inner_text().startswith("No fact has all")


def test_the_search_of_the_site_finds_pages(address, visit):
    shown = opened(address, visit, "index")
    shown.locator('input[name="q"]').first.fill("squared relu")
    shown.keyboard.press("Enter")
    shown.locator("#search-results li a").first.wait_for()
    assert any("extend/layer" in link.get_attribute("href") for link in shown.locator("#search-results li a").all())


def test_a_page_opens_from_a_folder_too(built, visit):
    shown = visit((built[0] / "six_ways" / "adam.html").as_uri(), within=built[0].as_uri())
    assert shown.locator(".six-panel:visible").count() == 4


def test_without_script_all_six_are_there(address, visit):
    shown = opened(address, visit, "six_ways/loss", java_script_enabled=False)
    assert shown.locator(".six-panel:visible").count() == 6


def test_the_front_page_leads_to_every_measured_cell(address, visit):
    shown = opened(address, visit, "index")
    shown.get_by_text("Every comparison of this picture on one page").click()
    shown.locator("#matrix .figure").first.wait_for()
    assert shown.title() == "All that was judged holds. - transformer_mb"
