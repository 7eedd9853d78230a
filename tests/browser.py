"""Debian's Chromium, driven by Playwright, for tests of pages; ``conftest.py`` loads it as a plugin.

Where there is no Chromium these tests are skipped, but in CI, whose variable ``CI`` is set, they fail: CONTRIBUTING.md says how
it gets there.
"""

import os
import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZES = {"phone": (360, 740), "wide": (1440, 900)}
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of a process; each test has pages of its own."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        words = "no Chromium: apt-get install chromium"
        pytest.fail(words) if os.environ.get("CI") else pytest.skip(words)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser):
    """A function that opens an address and returns its page: any console message or request beyond it fails the test.

    ``within``: the address of a folder, whose files may be asked for too.
    """
    with opened(browser) as visit:
        yield visit


@contextmanager
def opened(browser):
    contexts, said = [], []

    def visit(address, size="wide", scheme="light", within=None, **options):
        width, height = SIZES[size]
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: said.append(f"request: {request.url}") if is_beyond(request.url, address, within) else None,
        )
        page.goto(address)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert not said, said


def is_beyond(url, address, within=None):
    inside = url.startswith(within) if within else url.partition("#")[0] == address.partition("#")[0]
    return not inside and not url.startswith(("data:", "blob:"))


def findings(page):
    """Return the serious and critical findings of axe-core: each rule with its elements."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return {
        one["id"]: [f"{node['target']}: {node['failureSummary']}" for node in one["nodes"]][:5]
        for one in found
        if one["impact"] in SERIOUS
    }


def overflows(page):
    """By how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
