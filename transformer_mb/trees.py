"""Nested lists, tuples and dictionaries of arrays, as ``Backend.apply`` and ``Backend.gradients`` take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply ``function`` to whatever is not a list, tuple or dictionary, and keep the nesting."""
    if type(tree) in (list, tuple):
        return type(tree)(map_leaves(function, item) for item in tree)
    if type(tree) is dict:
        return {key: map_leaves(function, item) for key, item in tree.items()}
    return function(tree)


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves depth first, None and numbers among them."""
    if type(tree) in (list, tuple):
        for item in tree:
            yield from leaves(item)
    elif type(tree) is dict:
        for item in tree.values():
            yield from leaves(item)
    else:
        yield tree
