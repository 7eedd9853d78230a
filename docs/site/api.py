"""Entries of the API pages: a line ``{{ MODULE }}`` of a page becomes one for each public name of this module."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

# What two modules offer is described on the page of the first here; the other says which that is.
MODULES = (
    *("transformer_mb.data", "transformer_mb.training", "transformer_mb.checkpoint", "transformer_mb.compare"),
    *(
        "transformer_mb.check",
        "transformer_mb.parity",
        "transformer_mb.errors",
        "transformer_mb.presets",
        "transformer_mb.interface",
        "transformer_mb",
    ),
)
MARK = re.compile(r"^\{\{ (transformer_mb[\w.]*) \}\}$", re.MULTILINE)


def public_names(module: str) -> list[str]:
    """The module's ``__all__``, else what it defines itself."""
    there = importlib.import_module(module)
    if hasattr(there, "__all__"):
        return list(there.__all__)
    names = [name for name in vars(there) if not name.startswith("_")]
    return [name for name in names if str(getattr(getattr(there, name), "__module__", "")).startswith(module)]


@lru_cache(maxsize=1)
def _homes() -> dict[int, str]:
    """The name that each class or function is described under, by its identity."""
    homes: dict[int, str] = {}
    for module in MODULES:
        for name in public_names(module):
            homes.setdefault(id(_thing(module, name)), f"{module}.{name}")
    return homes


def _thing(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def entries(module: str) -> Iterator[str]:
    """The lines of reStructuredText for a module, which autodoc fills."""
    yield f".. py:module:: {module}\n"
    for name in public_names(module):
        thing, full = _thing(module, name), f"{module}.{name}"
        described = _homes()[id(thing)]
        if inspect.ismodule(thing):
            yield f".. py:data:: {name}\n   :no-index:\n\n   The module :py:mod:`{thing.__name__}`.\n"
        elif not inspect.isclass(thing) and not inspect.isroutine(thing):
            held = ", ".join(f"``{one}``" for one in thing)
            yield f".. py:data:: {name}\n\n   {'A table of' if isinstance(thing, Mapping) else 'These:'} {held}.\n"
        elif described != full:
            kind = "class" if inspect.isclass(thing) else "function"
            yield f".. py:{kind}:: {name}\n\n   The same as :py:obj:`{described}`.\n"
        else:
            yield f".. auto{'class' if inspect.isclass(thing) else 'function'}:: {full}\n"


def filled(text: str) -> str:
    """The text of a page with its marks replaced."""
    return MARK.sub(lambda found: "```{eval-rst}\n" + "\n".join(entries(found[1])) + "```", text)
