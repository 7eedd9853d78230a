"""Attention as a tab of the report: the lines that ``translate --attention FILE.jsonl`` writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

from ...files.typed_record import check_record
from ...printable import counted
from .section import Section

MOST = 50  # sentences in a page
DIGITS = 3  # of a weight: what a cell shows has two


class Sentence(TypedDict):
    """``weights`` [layer][head][target][source]: how much each target token looks at each source token."""

    source: list[str]
    target: list[str]
    weights: list[list[list[list[float]]]]


def attention_section(lines: Iterable[Any]) -> Section:
    """Return the tab of some sentences. Raises ValueError for lines that are none."""
    sentences: list[dict[str, Any]] = []
    left = 0
    for number, line in enumerate(lines, 1):
        check_record(Sentence, line, f"line {number}")
        if not line["source"]:
            continue
        if len(sentences) == MOST:
            left += 1
            continue
        _check_shape(line, number)
        weights = [[[[round(w, DIGITS) for w in row] for row in head] for head in layer] for layer in line["weights"]]
        sentences.append({**line, "weights": weights})
    if not sentences:
        raise ValueError("there must be a sentence with tokens, but there is none")
    first = sentences[0]["weights"]
    more = f"; {counted(left, 'further sentence')} left out" if left else ""
    return Section(
        kind="attention",
        title="Attention",
        sentence=(
            f"Where each token of a translation looks in its source: {counted(len(sentences), 'sentence')}, "
            f"{counted(len(first), 'layer')} of {counted(len(first[0]), 'head')}{more}."
        ),
        data={"sentences": sentences},
    )


def _check_shape(line: Any, number: int) -> None:
    heads = {len(layer) for layer in line["weights"]}
    rows = {len(head) for layer in line["weights"] for head in layer}
    columns = {len(row) for layer in line["weights"] for head in layer for row in head}
    if len(heads) != 1 or 0 in heads or rows != {len(line["target"])} or columns != {len(line["source"])}:
        raise ValueError(
            f"the weights of line {number} must be [layers, heads, {len(line['target'])}, {len(line['source'])}], as it has "
            "tokens"
        )
