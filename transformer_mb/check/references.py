"""Factories by name: what a module, or a file that becomes one, holds."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def parameters_of(factory: Any) -> Sequence[str]:
    """Return the keywords that it takes; of one that cannot be asked none."""
    try:
        # The signature of a class may be its metaclass'.
        made = getattr(factory, "__init__") if isinstance(factory, type) else factory  # noqa: B009
        return list(inspect.signature(made).parameters)
    except (TypeError, ValueError):
        return []


def signature_of(called: Any) -> list[inspect.Parameter]:
    """Return the parameters of what is called; of what cannot be asked none."""
    try:
        return list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        return []


def found(factory: str) -> Any:
    """Import a module, or a file that becomes one, and return what it holds under a name."""
    where, _, attribute = factory.rpartition(":")
    value: Any = _from_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    for name in attribute.split("."):
        value = getattr(value, name)
    return value


def _from_file(path: Path) -> Any:
    name = path.stem
    if getattr(sys.modules.get(name), "__file__", None) == str(path):
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(path.parent))  # what lies beside it
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
