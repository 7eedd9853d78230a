"""Attention as a tab of the report: the lines that ``translate --attention FILE.jsonl`` writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

from ...files.typed_record import check_record
from ...printable import counted
from .section import Section

MOST = 50  # sentences in a page
DIGITS = 3  # of a weight: what a cell shows has two


Weights = list[list[list[list[float]]]]  # [layer][head][query][key]


class SelfAttention(TypedDict, total=False):
    """The attention within both sides, which older files lack; ``inputs``: the tokens that the decoder read."""

    inputs: list[str]
    encoder: Weights  # source to source
    decoder: Weights  # inputs to inputs


class Sentence(SelfAttention):
    """``weights`` [layer][head][target][source]: how much each target token looks at each source token."""

    source: list[str]
    target: list[str]
    weights: Weights


# Each kind of weights, with the tokens of its rows and of its columns.
KINDS = {"weights": ("target", "source"), "encoder": ("source", "source"), "decoder": ("inputs", "inputs")}


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
        weights = {kind: _rounded(line, kind, number) for kind in KINDS if kind in line}
        sentences.append({**line, **weights})
    if not sentences:
        raise ValueError("there must be a sentence with tokens, but there is none")
    first = sentences[0]["weights"]
    more = f"; {counted(left, 'further sentence')} left out" if left else ""
    return Section(
        kind="attention",
        title="Attention",
        sentence=(
            f"Where each token of a translation looks: {counted(len(sentences), 'sentence')}, "
            f"{counted(len(first), 'layer')} of {counted(len(first[0]), 'head')}{more}."
        ),
        data={"sentences": sentences},
    )


def _rounded(line: Any, kind: str, number: int) -> Weights:
    """Check that the weights fit their tokens, and return them with fewer digits."""
    rows_of, columns_of = KINDS[kind]
    queries, keys, weights = len(line.get(rows_of, ())), len(line.get(columns_of, ())), line[kind]
    heads = {len(layer) for layer in weights}
    rows = {len(head) for layer in weights for head in layer}
    columns = {len(row) for layer in weights for head in layer for row in head}
    if len(heads) != 1 or 0 in heads or rows != {queries} or columns != {keys}:
        raise ValueError(f"the {kind} of line {number} must be [layers, heads, {queries}, {keys}], as it has tokens")
    return [[[[round(w, DIGITS) for w in row] for row in head] for head in layer] for layer in weights]
