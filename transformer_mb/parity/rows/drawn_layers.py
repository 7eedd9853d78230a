"""Layers and functions drawn by the seed: options from covering arrays, sizes at the boundaries, values of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from ...config import CHOICES
from ...random_streams import stream
from .drawn_values import LENGTHS, NO_STEPS, VALUES, CoveringArray, Random, Row, lengths
from .layer_cases import Case

D, F = 8, 12
# torch composes attention from parts below 16 keys and runs a fused kernel from there on.
KEYS: dict[str, Callable[[int], int]] = {
    "one more": lambda steps: steps + 1,
    "one less": lambda steps: steps - 1 or 1,
    "the queries": lambda steps: steps,
    "15": lambda steps: 15,
    "16": lambda steps: 16,
    "17": lambda steps: 17,
}
FLAG = (False, True)
STEPS, ROWS, HEADS = (4, 1, 2, 3, 17), (3, 1), (2, 1, 4)
NORM = {"norm_kind": CHOICES["norm_kind"], "norm_affine": (True, False), "norm_eps": (1e-5, 1e-6, 1e-2)}
ROTARY = {"position": ("sinusoidal", "rotary"), "rotary_layout": CHOICES["rotary_layout"], "rotary_base": (10000.0, 10.0)}
HEAD_OPTIONS = {**ROTARY, "position": ("rotary", "sinusoidal"), "num_kv_heads": (None, 2, 1)}
MASKS: dict[str, Callable[[Random, int, int, int, int], np.ndarray | None]] = {
    "none": lambda random, B, H, T, S: None,
    "keys": lambda random, B, H, T, S: random.random((B, 1, 1, S)) < 0.7,
    "pairs": lambda random, B, H, T, S: random.random((T, S)) < 0.6,
    "heads": lambda random, B, H, T, S: random.random((B, H, T, S)) < 0.6,
    "everything": lambda random, B, H, T, S: np.ones((T, S), bool),
    "nothing": lambda random, B, H, T, S: np.zeros((B, 1, T, S), bool),
}
# Kinds of what makes the scores, and of what they weigh. At scores of 100 torch's fused kernel, which makes the softmax again
# from its logarithm, leaves 3e-6 of the gradient in float32 where the exact one has vanished.
ATTENDED = {
    **{kind: (kind, "usual") for kind in ("usual", "equal steps", "ties", "1e-6", "3", "zeros")},
    "1e4": ("usual", "1e4"),
}
LENS = ("none", *LENGTHS, "per query")
NORMALIZED = tuple(name for name in VALUES if name != "around 1000")  # in float32 six digits of such a vector are its mean
WEIGHTED = tuple(name for name in NORMALIZED if not name.startswith("equal"))  # equal steps, too, say nothing there


def _lens(row: Row, random: Random, S: int) -> np.ndarray | None:
    if row["lens"] == "none":
        return None
    if row["lens"] == "per query":
        return random.integers(0, S + 1, (row["rows"], row["T"]))
    return lengths(row["lens"], random, row["rows"], S)


def _normalization(row: Row, random: Random) -> Case:
    shape = (row["rows"], row["T"], row["width"])
    over = shape[1:] if row["two axes"] else shape[-1:]
    X, Y = (VALUES[kind](random, shape) for kind in (row["values"], "usual"))
    if row["layer"] == "LayerNorm":
        options = {"kind": row["norm_kind"], "eps": row["norm_eps"], "affine": row["norm_affine"]}
        return Case("", "LayerNorm", (over,), (X,), options)
    options = {name: row[name] for name in NORM} | {"norm_position": row["layer"]}
    return Case("", "AddNorm", (over, 0.0), (X, Y), options)


def _feed_forward(row: Row, random: Random) -> Case:
    X = VALUES[row["values"]](random, (row["rows"], row["T"], D))
    options = {"activation": row["activation"], "use_bias": row["bias"], "gated": row["gated"]}
    return Case("", "PositionWiseFFN", (D, row["F"], 7), (X,), options)


def _attention(row: Row, random: Random) -> Case:
    B, T, H = row["rows"], row["T"], row["heads"]
    S = T if row["same"] in ("all", "queries and keys") else KEYS[row["keys"]](T)
    inner = (H,) if row["layer"] == "DotProductAttention" else ()
    width = D // H if inner else D
    scaled = {} if row["scaled"] else {"scaled" if inner else "attention_scale": False}
    scores, summed = ATTENDED[row["values"]]
    queries = VALUES[scores](random, (B, *inner, T, width))
    keys, values = (VALUES[kind](random, (B, *inner, S, width)) for kind in (scores, summed))
    mask = MASKS[row["mask"]](random, B, H, T, S)
    call = {"causal": row["causal"], "need_weights": row["weights"]} | ({} if mask is None else {"mask": mask})
    if inner:
        return Case("", "DotProductAttention", (0.0,), (queries, keys, values, _lens(row, random, S)), scaled, call=call)
    keys = queries if row["same"] in ("all", "queries and keys") else keys
    inputs = (queries, keys, keys if row["same"] in ("all", "keys and values") else values)
    options = {**scaled, "head_size": row["head size"]}
    return Case(
        "", "MultiHeadAttention", (D, D, D, D, H, 0.0, row["bias"]), (*inputs, _lens(row, random, S)), options, call=call
    )


def _heads(row: Row, random: Random) -> Case:
    """Attention of heads of another kind; queries may begin after the first key, as those of a cache do."""
    B, T = row["rows"], row["T"]
    later = row["later keys"]
    X, keys = random.standard_normal((B, T, D)), random.standard_normal((B, T + later, D))
    inputs = (X, X, X) if not later else (X, keys, keys)
    options = {name: row[name] for name in HEAD_OPTIONS}
    call = {"causal": row["causal"], "need_weights": row["weights"], "offset": later}
    lens = _lens(row, random, T + later)
    return Case("", "MultiHeadAttention", (D, D, D, D, row["heads"], 0.0, row["bias"]), (*inputs, lens), options, call=call)


def _softmax(row: Row, random: Random) -> Case:
    B, T, H = row["rows"], row["T"], row["heads"]
    S = KEYS[row["keys"]](T)
    X = VALUES[row["values"]](random, (B, H, T, S))
    return Case("", "masked_softmax", (), (X, _lens(row, random, S), MASKS[row["mask"]](random, B, H, T, S)))


def _sequence_mask(row: Row, random: Random) -> Case:
    lens = lengths(row["lens"], random, row["rows"], row["T"])
    shape = (row["rows"], row["T"], *((D,) if row["features"] else ()))
    return Case("", "sequence_mask", (), (random.standard_normal(shape), lens), call={"value": row["value"]})


def _positions(row: Row, random: Random) -> Case:
    B, T = row["rows"], row["T"]
    offset = {"none": 0, "last": 20 - T, "by row": random.integers(0, 3, B)}[row["offset"]]
    X = random.standard_normal((B, T, row["width"]))
    return Case("", "PositionalEncoding", (row["width"], 0.0, 20), (X, offset), {"layout": row["sinusoid_layout"]})


def _block(row: Row, random: Random) -> Case:
    B, T = row["rows"], row["T"]
    names = (
        "norm_position",
        "activation",
        "ffn_bias",
        "ffn_gated",
        "head_size",
        "num_kv_heads",
        "attention_scale",
        *NORM,
        *ROTARY,
    )
    arguments = (D, D, D, D, [D], D, F, row["heads"], 0.0)
    X, options = random.standard_normal((B, T, D)), {name: row[name] for name in names}
    S = T if row["layer"] == "EncoderBlock" else KEYS[row["keys"]](T)
    lens = _lens(row, random, S)
    if row["layer"] == "EncoderBlock":
        return Case("", "EncoderBlock", (*arguments, row["bias"]), (X, lens), options, training=row["training"])
    state = [random.standard_normal((B, S, D)), lens, [None]] if row["encoder outputs"] else [None, None, [None]]
    # The book's code has no causal mask in evaluation.
    options |= {name: row[name] for name in ("compat_decode", "cross_attention")}
    return Case("", "DecoderBlock", (*arguments, 0, row["bias"]), (X, state), options, training=row["training"])


def _loss(row: Row, random: Random) -> Case:
    B, T, V = row["rows"], row["T"], row["V"]
    logits = VALUES[row["values"]](random, (B, T, V))
    labels = random.integers(0, V, (B, T)).astype(row["ids"])
    options = {name: row[name] for name in ("normalization", "label_smoothing")}
    return Case("", "MaskedSoftmaxCELoss", (), (logits, labels, lengths(row["lens"], random, B, T)), options)


@dataclass(frozen=True)
class Family:
    """Layers that are drawn alike: ``share`` cases a seed, each built from a row of the covering array."""

    array: CoveringArray
    share: int
    build: Callable[[Row, Random], Case]


Settings = dict[str, tuple[Any, ...]]


def _possible(row: Row) -> bool:
    """Rotary positions turn the numbers of a head in pairs, and each head of keys serves as many of queries."""
    in_pairs = row.get("position") != "rotary" or not (row.get("head_size") or 0) % 2
    few = int(row.get("num_kv_heads") or 1)
    return in_pairs and int(row.get("heads", few)) % few == 0


def _family(name: str, share: int, build: Callable[[Row, Random], Case], *settings: Settings) -> Family:
    array = CoveringArray(name, dict(chain.from_iterable(each.items() for each in settings)), _possible)
    return Family(array, share, build)


SMALL: Settings = {"rows": ROWS, "T": (4, 1)}
FAMILIES = (
    _family(
        *("normalization", 5, _normalization),
        {"layer": ("LayerNorm", "post", "pre"), **NORM, "width": (8, 3, 33), "two axes": FLAG, **SMALL, "values": NORMALIZED},
    ),
    _family(
        *("feed-forward", 3, _feed_forward),
        {
            "activation": CHOICES["activation"],
            "bias": (True, False),
            "gated": FLAG,
            "F": (12, 1, 33),
            **SMALL,
            "values": WEIGHTED,
        },
    ),
    _family(
        *("attention", 6, _attention),
        {"layer": ("MultiHeadAttention", "DotProductAttention"), "T": STEPS, "keys": tuple(KEYS), "rows": ROWS, "heads": HEADS},
        {"bias": FLAG, "causal": FLAG, "weights": FLAG, "scaled": (True, False), "head size": (None, 3)},
        {"same": ("none", "keys and values", "queries and keys", "all")},  # one array, which a layer may project once
        {"lens": LENS, "mask": tuple(MASKS), "values": tuple(ATTENDED)},
    ),
    _family(
        *("heads", 2, _heads),
        {"T": (4, 2, 17), "later keys": (0, 3), "rows": ROWS, "heads": HEADS, "bias": FLAG, "causal": FLAG, "weights": FLAG},
        {"lens": ("none", "ragged"), **HEAD_OPTIONS},
    ),
    _family(
        *("masked softmax", 4, _softmax),
        {"T": (4, 1, 2), "keys": tuple(KEYS), "rows": ROWS, "heads": (2, 1)},
        {"lens": ("none", "ragged", "one is 0", "per query")},
        {"mask": tuple(MASKS), "values": ("usual", "ties", "1e4", "around 1000", "zeros")},
    ),
    _family(
        *("sequence mask", 1, _sequence_mask),
        {"rows": ROWS, "T": (5, 1), "features": FLAG, "value": (0, -1.5, 0.1), "lens": LENGTHS},
    ),
    _family(
        *("positions", 1, _positions),
        {**SMALL, "width": (8, 2), "offset": ("none", "last", "by row"), "sinusoid_layout": CHOICES["sinusoid_layout"]},
    ),
    _family(
        *("block", 3, _block),
        {"layer": ("EncoderBlock", "DecoderBlock"), "norm_position": CHOICES["norm_position"], **NORM},
        {"activation": CHOICES["activation"], "bias": FLAG, "ffn_bias": FLAG, "ffn_gated": FLAG, "training": FLAG},
        {"head_size": (None, 3), "num_kv_heads": (None, 2, 1), "attention_scale": (True, False)},
        {"compat_decode": CHOICES["compat_decode"], "cross_attention": (True, False), "encoder outputs": (True, False)},
        {"T": STEPS, "keys": ("one more", "one less", "the queries", "17"), "rows": ROWS, "heads": HEADS, "lens": LENS},
        ROTARY,
    ),
    _family(
        *("loss", 3, _loss),
        {"normalization": CHOICES["normalization"], "label_smoothing": (0.0, 0.1)},
        {"rows": ROWS, "T": (4, 1, 2), "V": (11, 2, 5), "ids": ("int64", "int32")},
        {"lens": (*LENGTHS, NO_STEPS), "values": (*WEIGHTED, "around 1000")},
    ),
)


def drawn_cases(seed: int) -> list[Case]:
    """The seed's share of every family, named by the settings that are not the usual ones.

    Formats of two bytes have every third of those with usual values.
    """
    cases = [case for family in FAMILIES for case in _cases(family, seed)]
    usual = [case.name for case in cases if not case.ill_conditioned]
    first = seed % len(usual)
    chosen = [*usual[first:], *usual[:first]][::3]
    return [replace(case, every_dtype=case.name in chosen) for case in cases]


def _cases(family: Family, seed: int) -> Iterator[Case]:
    array = family.array
    for number, row in enumerate(array.share(seed, family.share), 1):
        case = family.build(row, stream(seed, "drawn", array.name, number))
        # From 1e4 any implementation loses digits: the limits grow with what the reference itself loses.
        odd = row.get("values", "usual") != "usual"
        yield replace(case, name=f"drawn {array.name} {number}: {array.words(row)}", ill_conditioned=odd)
