"""The directive ``six-ways``: six implementations in tabs and side by side, as they are in the backends' files.

Its argument is FILE: NAME + NAME. An option named after a backend says what stands there in place of these, with a file where
that differs. Its content are notes, one a line (see ``differences.read_notes``).
"""

from __future__ import annotations

import html
import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.util.docutils import SphinxDirective

from .differences import Difference, differences, read_notes
from .recurring import add_recurring
from .twins import BACKENDS, NAMES, Cut, cut


class SixWays(SphinxDirective):
    """Cuts, compares and shows; the page depends on the files, so that a changed line makes it anew."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = dict.fromkeys(NAMES, directives.unchanged)

    def run(self) -> list[nodes.Node]:
        try:
            cuts = read_cuts(self.arguments[0], self.options)
            found = differences(cuts, read_notes([line for line in self.content if line.strip()], list(NAMES)))
        except (LookupError, OSError, ValueError) as error:
            raise self.error(str(error.args[0] if isinstance(error, LookupError) else error)) from error
        add_recurring(found)
        for parts in cuts.values():
            for part in parts:
                self.env.note_dependency(str(BACKENDS.parent / part.path))
        for place in (one for places in found.values() for one in places if not one.sentences):
            path = f"{place.cut.path}, lines {place.first} to {place.last}"
            self.state.document.reporter.warning(f"No sentence explains what differs in {path}.", line=self.lineno)
        number = self.env.new_serialno("six-ways")
        title = self.arguments[0].partition(":")[2].strip()
        return [nodes.raw("", as_html(cuts, found, f"six-{number}", title), format="html")]


def read_cuts(argument: str, options: dict[str, str]) -> dict[str, list[Cut]]:
    """Cut for each backend the parts that ``FILE: NAME + NAME`` and the options name."""
    file, _, names = argument.partition(":")
    result = {}
    for backend in NAMES:
        own_file, colon, own_names = options.get(backend, "").rpartition(":")
        result[backend] = [
            cut(backend, own_file.strip() if colon else file.strip(), name.strip()) for name in (own_names or names).split("+")
        ]
    return result


def as_html(cuts: dict[str, list[Cut]], found: dict[str, list[Difference]], key: str, title: str) -> str:
    """All six below each other; the site's script makes tabs of them."""
    panels = "".join(_panel(backend, cuts[backend], found[backend], key) for backend in NAMES)
    return f'<div class="six-ways" id="{key}" data-title="{html.escape(title)}">{panels}</div>'


def _panel(backend: str, parts: list[Cut], places: list[Difference], key: str) -> str:
    numbers = {id(place): number for number, place in enumerate(places, 1)}
    code = "".join(_code(part, [place for place in places if place.cut is part], numbers, f"{key}-{backend}") for part in parts)
    reasons = "".join(
        f'<li id="{key}-{backend}-{numbers[id(place)]}">{" ".join(_spoken(one) for one in place.sentences)} '
        f'<a href="#{key}-{backend}-{numbers[id(place)]}-line" aria-label="to line {place.first}">&#8593;</a></li>'
        for place in places
    )
    why = f'<ol class="six-why">{reasons}</ol>' if reasons else '<p class="six-why">Nothing here is particular to it.</p>'
    return (
        f'<section class="six-panel" data-backend="{backend}" data-name="{NAMES[backend]}" id="{key}-{backend}">'
        f'<h4 class="six-name">{NAMES[backend]}</h4>{code}{why}</section>'
    )


def _code(part: Cut, places: list[Difference], numbers: dict[int, int], key: str) -> str:
    text = "\n".join(part.lines) + "\n"
    margin = min(len(line) - len(line.lstrip()) for line in part.lines if line.strip())
    text = "\n".join(line[margin:] for line in text.splitlines())
    coloured = highlight(text, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).rstrip("\n").split("\n")
    lines = []
    for number, line in enumerate(coloured, part.first):
        place = next((one for one in places if one.first <= number <= one.last), None)
        mark, kind = "", "six-line"
        if place is not None:
            kind += " six-own"
            if number == place.first:
                label = numbers[id(place)]
                mark = (
                    f'<a class="six-mark" id="{key}-{label}-line" href="#{key}-{label}" '
                    f'aria-label="difference {label}">{label}</a>'
                )
        indent = len(text.splitlines()[number - part.first]) - len(text.splitlines()[number - part.first].lstrip())
        lines.append(f'<span class="{kind}" style="--indent:{indent}">{mark}{line or " "}\n</span>')
    path = f'<p class="six-path"><code>{part.path}</code>, lines {part.first}–{part.last}</p>'
    body = "".join(lines)
    return f'{path}<div class="highlight"><pre tabindex="0" aria-label="{html.escape(part.path)}">{body}</pre></div>'


def _spoken(sentence: str) -> str:
    """A sentence with its ``names`` and `names` as code."""
    return re.sub(r"``(.+?)``|`(.+?)`", lambda found: f"<code>{found[1] or found[2]}</code>", html.escape(sentence))
