"""The directive ``parity-figures``: what the committed run of the matrix measured of the cells that patterns name."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .twins import NAMES

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "parity_cpu.json"
DTYPES = ("float64", "float32", "bfloat16", "float16")


@lru_cache(maxsize=1)
def measured() -> dict[str, Any]:
    """The committed run."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def chosen(results: Iterable[dict[str, Any]], patterns: Sequence[str]) -> list[dict[str, Any]]:
    """The cells or controls whose id, ``ROW: CASE [DTYPE]``, a pattern of ``parity --cases`` matches."""
    ids = [(one, f"{one['row']}: {one['case']} [{one['dtype']}]") for one in results]
    return [one for one, name in ids if any(fnmatchcase(name, pattern) for pattern in patterns)]


def nearest(cells: Iterable[dict[str, Any]], row: str, dtype: str, backend: str) -> dict[str, Any] | None:
    """The cell of this row, dtype and backend that came closest to its limit."""
    wanted = [one for one in cells if (one["row"], one["dtype"], one["backend"]) == (row, dtype, backend) and one["limit"]]
    return max(wanted, key=lambda one: one["error"] / one["limit"], default=None)


class ParityFigures(SphinxDirective):
    """A table, a row for each row of the matrix and dtype, and the command that measures it again."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        patterns = [line.strip() for line in self.content if line.strip()]
        found = measured()
        self.env.note_dependency(str(RESULTS))
        cells = chosen(found["results"], patterns)
        unmatched = [pattern for pattern in patterns if not chosen(found["results"], [pattern])]
        if unmatched:
            raise self.error(f"Each pattern must match cells of {RESULTS.name}, and these match none: {unmatched}.")
        controls = chosen(found["control_results"], patterns)
        command = f"transformer-mb parity --cases '{'|'.join(patterns)}'"
        shown = nodes.literal_block(f"$ {command}", f"$ {command}", language="console")
        return [nodes.raw("", as_html(cells, controls), format="html"), shown]


def as_html(cells: Sequence[dict[str, Any]], controls: Sequence[dict[str, Any]]) -> str:
    """Show of each row, dtype and backend the error that came closest to its limit, and which part of the limit it is."""
    passed = sum(one["status"] == "passed" for one in cells)
    caught = sum(one["caught"] for one in controls)
    heads = "".join(f'<th scope="col">{name}</th>' for name in NAMES.values())
    rows = []
    for row in dict.fromkeys(one["row"] for one in cells):
        for dtype in DTYPES:
            nearests = [nearest(cells, row, dtype, backend) for backend in NAMES]
            if any(nearests):
                body = "".join(_figure(one) for one in nearests)
                rows.append(f'<tr><th scope="row">{html.escape(row)}, {dtype}</th>{body}</tr>')
    return (
        f'<div class="table-wrapper" role="region" aria-label="Parity figures" tabindex="0"><table class="parity">'
        f"<caption>{passed:,} of {len(cells):,} cells passed, {caught:,} of {len(controls):,} planted mistakes were caught. "
        f"Each figure is the relative error that came closest to its limit, and its share of that limit.</caption>"
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _figure(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return "<td>–</td>"
    share = cell["error"] / cell["limit"]
    title = html.escape(f"{cell['case']}: {cell['reason']}", quote=True)
    bar = f'<span class="share" style="--share:{min(share, 1):.2f}"></span>'
    return f'<td title="{title}">{bar}{cell["error"]:.1e}<br>{share:.0%}</td>'
