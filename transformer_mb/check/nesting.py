"""Arrays inside whatever a framework's layers take and return: lists, tuples, dictionaries, records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Change = Callable[[str, Any], Any]
WHOLE = "output"  # the path of an answer that is one array


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what is no container, with its path: ``0``, ``0.1``, ``last_hidden_state``; None is left out."""
    if (items := _items(tree)) is not None:
        for name, item in items:
            yield from leaves(item, f"{path}.{name}" if path else str(name))
    elif tree is not None:
        yield path or WHOLE, tree


def changed(tree: Any, change: Change, path: str = "") -> Any:
    """Return the same nesting with ``change(path, leaf)`` in the place of each leaf; None stays."""
    items = _items(tree)
    if items is None:
        return tree if tree is None else change(path or WHOLE, tree)
    new = {name: changed(item, change, f"{path}.{name}" if path else str(name)) for name, item in items}
    if isinstance(tree, Mapping):
        try:
            return type(tree)(**new)  # of records of transformers
        except TypeError:
            return type(tree)(new)  # type: ignore[call-arg]
    if dataclasses.is_dataclass(tree):
        return dataclasses.replace(tree, **new)  # type: ignore[type-var]
    return type(tree)(*new.values()) if hasattr(tree, "_fields") else type(tree)(new.values())


def part(tree: Any, path: list[str | int]) -> Any:
    """Return what lies at a path of keys, positions and attributes.

    Raises: TypeError for a part of an array: the rest of it would not be compared.
    """
    for step in path:
        if hasattr(tree, "dtype") or (isinstance(step, int) and _items(tree) is None):
            raise TypeError(
                f"output() must name a part of a list, tuple, dictionary or record, got {step!r} of {type(tree).__name__}"
            )
        tree = getattr(tree, step) if isinstance(step, str) and not isinstance(tree, Mapping) else tree[step]
    return tree


def _items(tree: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(tree, Mapping):  # in an order that both sides have, whichever way each was filled
        return sorted(tree.items(), key=lambda item: str(item[0]))
    if isinstance(tree, list | tuple):
        names = getattr(tree, "_fields", None) or range(len(tree))
        return list(zip(names, tree, strict=True))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type) and getattr(tree, "__module__", "") != "jax":
        return [(each.name, getattr(tree, each.name)) for each in dataclasses.fields(tree)]
    return None
