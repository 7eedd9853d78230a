"""Indices: positions that are none, ties, and NaN among what is compared."""

from __future__ import annotations

import numpy as np

from ..facts import Ask, Probe
from .reading import found, named, row_at

TABLE = np.arange(1, 4 * 64 + 1, dtype="float32").reshape(4, 64)
NARROW, WIDE = 16, 2001  # what vector instructions take whole, and what sorts and threads divide


def _row(take: Ask, index: int) -> str:
    return row_at(lambda one: take(TABLE, np.array([1, one]))[1], index, TABLE)


def _rows_behind(index: Ask) -> str:
    """Read four rows, because memory behind the table may hold zeros by chance."""
    rows = index(TABLE, np.arange(4, 8))
    words = {found(row, TABLE) for row in rows}
    return words.pop() if len(words) == 1 else "memory beside the table"


def _tie(argmax: Ask, width: int) -> str:
    place = int(argmax(np.zeros((2, width), "float32"))[0])
    return {0: "the first", width - 1: "the last"}.get(place, "one between")


def _with_nan() -> np.ndarray:
    """Make zeros but for a NaN at 7 and the largest number at 9."""
    X = np.zeros((2, 40), "float32")
    X[:, 7], X[:, 9] = np.nan, 2.0
    return X


def _maximum_nan(maximum: Ask) -> str:
    value = float(maximum(_with_nan())[0])
    return "NaN" if np.isnan(value) else "the largest number" if value == 2.0 else "another number"


def _top_ties(top_k: Ask, width: int) -> str:
    places, first = top_k(np.zeros((2, width), "float32"), 5)[0], np.arange(5)
    return named(places, {"the first, in order": first, "the last": width - 1 - first}, "others or in no order")


def _stable(argsort: Ask) -> str:
    row = (np.arange(WIDE) % 20).astype("float32")
    stable, reverse = np.argsort(row, kind="stable"), np.argsort(row[::-1], kind="stable")
    return named(argsort(row[None])[0], {"stable": stable, "reversed": WIDE - 1 - reverse}, "not stable")


def _one_hot(one_hot: Ask, id: int) -> str:
    row = one_hot(np.array([1, id]), 4)[1]
    words = {"zeros": 0.0, "ones": 1.0, "the last class": np.eye(4)[3], "the first class": np.eye(4)[0]}
    return named(row, words, "another row")


PROBES = (
    Probe(
        name="take beyond the end",
        operation="take",
        measure=lambda ask: _row(ask, 4),
        question="What does the function that takes rows give for the index V of V rows?",
        meaning="A position one too far fails, makes NaN, or gives a row that looks right.",
        setting="`mode=` in NumPy, JAX and MXNet.",
        sources=("docs.jax.dev/en/latest/_autosummary/jax.numpy.take.html",),
    ),
    Probe(
        name="take at -1",
        operation="take",
        measure=lambda ask: _row(ask, -1),
        question="What does the function that takes rows give for the index -1?",
        meaning="Counting from the end is NumPy's habit, not everyone's.",
        setting="`index % V`.",
    ),
    Probe(
        name="indexing beyond the end",
        operation="index",
        measure=_rows_behind,
        question="What does an array give that is indexed with an array of positions beyond its end?",
        meaning="Besides an error it may be the last row, or memory that belongs to something else, or the end of the process.",
        setting="Check positions first.",
        sources=("docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html",),
    ),
    Probe(
        name="argmax of 16 equal numbers",
        operation="argmax",
        measure=lambda ask: _tie(ask, NARROW),
        question="Which of 16 equal numbers does argmax name?",
        meaning="Greedy decoding takes another token at a tie, and from there another sentence.",
        setting="A stable sort.",
        sources=("pytorch/pytorch#17738", "pytorch/pytorch#41998"),
    ),
    Probe(
        name="argmax of 2,001 equal numbers",
        operation="argmax",
        measure=lambda ask: _tie(ask, WIDE),
        question="And of 2,001, as many as a small vocabulary has?",
        meaning="Wide rows are divided among vector lanes and threads, which may meet the tie in another order.",
        setting="A stable sort.",
        sources=("pytorch/pytorch#17738", "pytorch/pytorch#41998"),
    ),
    Probe(
        name="argmax with a NaN",
        operation="argmax",
        measure=lambda argmax: {7: "NaN", 9: "the largest number"}.get(int(argmax(_with_nan())[0]), "another number"),
        question="What does argmax name where one of 40 is NaN?",
        meaning="A model that is broken decodes on as if nothing were, or shows where.",
        setting="Look for NaN first.",
    ),
    Probe(
        name="maximum with a NaN",
        operation="maximum",
        measure=_maximum_nan,
        question="What is the maximum of a row with a NaN in it?",
        meaning="maximum and argmax of one framework may disagree.",
        setting="`nanmax` where there is one.",
    ),
    Probe(
        name="top-k of 16 equal numbers",
        operation="top_k",
        measure=lambda ask: _top_ties(ask, NARROW),
        question="Which 5 of 16 equal numbers does top-k name?",
        meaning="Beam search and a mixture of experts choose otherwise at a tie, and go on from there.",
        setting="A stable sort, and its first k.",
        sources=("pytorch/pytorch#22853", "pytorch/torchtitan#3336"),
    ),
    Probe(
        name="top-k of 2,001 equal numbers",
        operation="top_k",
        measure=lambda ask: _top_ties(ask, WIDE),
        question="And of 2,001, as many as a small vocabulary has?",
        meaning="Another algorithm is used for wide rows, with another order.",
        setting="A stable sort, and its first k.",
        sources=("pytorch/pytorch#133542", "pytorch/pytorch#186653"),
    ),
    Probe(
        name="top-k with a NaN",
        operation="top_k",
        measure=lambda top_k: {7: "NaN", 9: "the largest number"}.get(int(top_k(_with_nan(), 3)[0, 0]), "another number"),
        question="What comes first of the 3 largest where one of 40 is NaN?",
        meaning="NaN as the best choice stops a search, or is silently the token that was chosen.",
        setting="Look for NaN first.",
    ),
    Probe(
        name="sort of ties",
        operation="argsort",
        measure=_stable,
        question="Does argsort keep the order of equal numbers, 2,001 of them with 20 values?",
        meaning="Batches sorted by length come in another order, and train another model.",
        setting='`stable=True`, or `kind="stable"` in NumPy.',
    ),
    Probe(
        name="one-hot of a class that is too large",
        operation="one_hot",
        measure=lambda ask: _one_hot(ask, 4),
        question="What does one-hot give for the class K of K?",
        meaning="A row of zeros has no target: the loss is 0 there, and no error says so.",
        setting="Check classes first.",
    ),
    Probe(
        name="one-hot of -1",
        operation="one_hot",
        measure=lambda ask: _one_hot(ask, -1),
        question="What does one-hot give for the class -1?",
        meaning="Zeros are handy for ignored targets, until a framework raises instead.",
        setting="Check classes first.",
    ),
    Probe(
        name="dtype of one-hot",
        operation="one_hot",
        measure=lambda ask: str(ask(np.array([1]), 4).dtype),
        question="Which dtype does one-hot give?",
        meaning="Integers must be converted before a product or a loss takes them.",
        setting="`dtype=` where there is one; `.float()` in torch.",
    ),
)
