"""The directive ``answers``: what each framework's own did when it was asked, as the committed run of the probes has it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .twins import NAMES

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "behaviours.json"
PAGE = "BEHAVIOURS"


def table(asked: Sequence[str], facts: Iterable[dict[str, Any]], page: str) -> str:
    """Markdown: a row for each fact, which leads to its place on ``page``, and a column for each framework that has any."""
    found = {(one["probe"], one["framework"]): one["value"] for one in facts}
    unknown = [name for name in asked if not any(probe == name for probe, _ in found)]
    if unknown:
        raise LookupError(f"Each line must be a probe of {RESULTS.name}, and these are none: {unknown}.")
    columns = [backend for backend in NAMES if any(found.get((name, backend)) is not None for name in asked)]
    rows = [["", *(NAMES[backend] for backend in columns)], ["---"] * (len(columns) + 1)]
    for name in asked:
        answers = [found.get((name, backend)) for backend in columns]
        rows.append([f"[{name}]({page}#{anchor(name)})", *("has none" if one is None else str(one) for one in answers)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def anchor(name: str) -> str:
    """The name of a heading in an address, as MyST and GitHub make it."""
    return re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-")


class Answers(SphinxDirective):
    """A line of the content is the name of a probe."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(RESULTS))
        page = os.path.relpath(f"{PAGE}.md", Path(self.env.docname).parent)
        facts = json.loads(RESULTS.read_text(encoding="utf-8"))["behaviours"]
        try:
            text = table([line.strip() for line in self.content if line.strip()], facts, page)
        except LookupError as error:
            raise self.error(str(error.args[0])) from error
        return self.parse_text_to_nodes(text)
