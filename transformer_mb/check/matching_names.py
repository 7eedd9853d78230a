"""Likeness of two names of weights: the words that libraries use for the same part count as one."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache

# By what a level of a name means: how libraries write it, in small letters without underscores.
MEANINGS = {
    "weight": "weight kernel gamma scale embedding embeddings w",
    "bias": "bias beta b",
    "q": "q query qproj wq queryproj querydense toq",
    "k": "k key kproj wk keyproj keydense tok",
    "v": "v value vproj wv valueproj valuedense tov",
    "o": "o oproj out outproj wo output attentionoutput cproj outputdense toout",
    "qkv": "qkv inproj cattn querykeyvalue qkvproj inprojection wqkv toqkv",
    "kv": "kv kvproj wkv tokv keyvalue",
    "gates of inputs": "ih ihl0 wih i2h densei",
    "gates of states": "hh hhl0 whh h2h denseh recurrent recurrentkernel",
    "attention": "attention attn selfattn selfattention mha multiheadattention self",
    "cross": "cross crossattn crossattention encoderattn encdecattention multiheadattn",
    "norm": "norm ln layernorm layernormalization rmsnorm addnorm",
    "ffn": "ffn mlp feedforward densereludense intermediate",
    "first": "linear1 fc1 dense1 wi cfc lin1 wi0",
    "second": "linear2 fc2 dense2 lin2",
    "block": "block blocks blk blks layer layers h",
    "embedding": "wte wordembeddings tokenembedding embedtokens shared",
    "position": "wpe positionembeddings embedpositions posembedding",
}
SAME = {spelling: meaning for meaning, spellings in MEANINGS.items() for spelling in spellings.split()}
# What parts of a packed tensor are called, in the order in which nearly all libraries pack them.
PACKED = {"q": 0, "k": 1, "v": 2}
NUMBER = re.compile(r"\d+")


def parted(name: str) -> tuple[str, str]:
    """Return the path of the module that holds a weight, and what the weight is to it: ``weight``, ``bias`` or its own word.

    ``in_proj_weight`` and ``weight_ih_l0`` are the weights of ``in_proj`` and ``ih_l0``.
    """
    path, _, leaf = name.replace("/", ".").rpartition(".")
    if leaf.lower() in SAME:
        return path, SAME[leaf.lower()]
    parts = leaf.split("_")
    for word, rest in ((parts[-1], parts[:-1]), (parts[0], parts[1:])):
        if rest and SAME.get(word.lower()) in ("weight", "bias"):
            return ".".join(filter(None, [path, "_".join(rest)])), SAME[word.lower()]
    return path, leaf


def parent_of(name: str, is_tensor: bool) -> str:
    """Return the path of what holds a module, or of what holds the module of a tensor; a bare tensor is like a module."""
    if not is_tensor:
        return name.rpartition(".")[0]
    path, role = parted(name)
    return path.rpartition(".")[0] if role in ("weight", "bias") else path


@cache
def words(path: str) -> tuple[str, ...]:
    """Return what the levels of a path mean; a level that is not known stands for itself, a number at its end apart."""
    found: list[str] = []
    for level in filter(None, path.split(".")):
        plain = level.lower().replace("_", "")
        stem = plain.rstrip("0123456789")
        if plain in SAME or stem not in SAME:
            found.append(SAME.get(plain, plain))
        else:
            found += [SAME[stem], plain[len(stem) :]]
    return tuple(found)


@cache
def likeness(one: str, other: str) -> float:
    """Return how alike two paths are, from 0 to 1: their words in order, their numbers, and a little by their letters."""
    by_words = SequenceMatcher(None, words(one), words(other), autojunk=False).ratio()
    by_letters = SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()
    numbers = NUMBER.findall(one) == NUMBER.findall(other)
    return 0.75 * by_words + 0.15 * by_letters + 0.1 * numbers


def place(path: str) -> int:
    """Return where a part stands in a packed tensor: queries, keys, values, by its name; 3 if that does not say."""
    return next((PACKED[word] for word in reversed(words(path)) if word in PACKED), 3)
