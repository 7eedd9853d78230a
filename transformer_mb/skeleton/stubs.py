"""Classes and functions without a body, made from those that a backend is held to: names, arguments and defaults."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable
from typing import Any

WIDTH = 120


def stub(name: str, contract: Any, bases: str) -> str:
    """Return the class, or for a protocol of a function the function, of a contract in ``interface``.

    What a base of ours gives already, the weights of attention, is left out.
    """
    given = {"attention_weights"} if "," in bases else set()
    methods = {key: value for key, value in vars(contract).items() if key not in given and is_its_own(key, value, contract)}
    says = f"# {contract.__module__}.{contract.__qualname__} says what it computes."
    if set(methods) == {"__call__"}:
        return "\n".join([says, function(name, methods["__call__"], name, bound=False), ""])
    made = [indented(function(key, value, f"{name}.{key}")) for key, value in methods.items()]
    return "\n".join([f"class {name}({bases}):", f"    {says}", "", "\n\n".join(made), ""])


def is_its_own(name: str, value: Any, contract: type) -> bool:
    """Tell a method that a contract's source has from what Protocol puts beside it."""
    if inspect.isfunction(value):
        return value.__module__ == contract.__module__ and (name in ("__init__", "__call__") or not name.startswith("_"))
    return isinstance(value, property | classmethod)


def methods(owner: type, names: Iterable[str], of: str) -> str:
    """Return methods of an abstract class, each with what its docstring says first."""
    return "\n\n".join(indented(function(name, inspect.getattr_static(owner, name), f"{of}.{name}")) for name in names)


def function(name: str, value: Any, path: str, bound: bool = True) -> str:
    """Return a function whose body says that it is to be filled in."""
    kinds = {property: "@property", classmethod: "@classmethod", staticmethod: "@staticmethod"}
    decorator = [kinds[type(value)]] if type(value) in kinds else []
    plain = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    said = inspect.cleandoc(plain.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    body = [f'    raise NotImplementedError("fill in {path}")']
    comment = [f"    # {line}" for line in textwrap.wrap(said, WIDTH - 6)] if said else []
    return "\n".join([*decorator, definition(name, arguments(plain, bound)), *comment, *body])


def definition(name: str, given: str) -> str:
    """Return the line that defines a function, or as many lines as arguments where it would be too long."""
    line = f"def {name}({given}):"
    return line if len(line) <= WIDTH else "\n".join([f"def {name}(", *(f"    {one}," for one in given.split(", ")), "):"])


def arguments(plain: Any, bound: bool) -> str:
    """Return the arguments of a function without their types, which its contract says."""
    parameters = list(inspect.signature(plain).parameters.values())[0 if bound else 1 :]
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(bare))[1:-1].replace("'", '"')


def indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.splitlines())
