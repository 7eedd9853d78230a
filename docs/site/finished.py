"""Faults of a finished site: links that lead nowhere, requests beyond it, public names without an entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util.inventory import InventoryFile

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}  # what a browser fetches by itself
RELATIONS = {"canonical", "next", "prev", "search", "index"}  # of links in the head that it does not fetch


class _Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get(LOADED.get(tag, "")) and given.get("rel") not in RELATIONS:
            self.loaded.append(given[LOADED[tag]])


def complaints(site: Path, public: Iterable[str] = ()) -> list[str]:
    """Sentences, none for a site that is as it should be."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = [sentence for path, page in pages.items() for sentence in _of_page(path, page, pages, site)]
    names = set(_names(site)) if public else set()
    return found + [f"The public name {name} has no entry on any page." for name in sorted(set(public) - names)]


def _of_page(path: Path, page: _Page, pages: dict[Path, _Page], site: Path) -> Iterator[str]:
    here = path.relative_to(site)
    for link in (*page.links, *page.loaded):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if link in page.loaded and parts.scheme != "data":
                yield f"{here} loads {link}, which is not part of the site."
            continue
        there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        there = there / "index.html" if there.is_dir() else there
        if not there.exists():
            yield f"{here} links to {link}, which does not exist."
        elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
            yield f"{here} links to {link}, where nothing has this name."


def _names(site: Path) -> Iterator[str]:
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    for kind, entries in inventory.data.items():
        if kind.startswith("py:"):
            yield from entries
