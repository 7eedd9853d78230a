"""The file that says which two things are compared, read without being run.

    from transformer_mb import check

    REFERENCE = check.torch("block_torch.py:Block", 64, heads=4)
    CANDIDATE = check.flax("block_flax.py:Block", 64, heads=4)
    WEIGHTS = {f"layers.{i}.weight": f"layers.{i}.kernel.T" for i in range(2)}
    INPUTS = {"x": check.floats("B", "T", 64)}
    SIZES = {"B": 2, "T": 5}

It is Python, of which the judge understands values, names that were given one, f-strings, comprehensions over ``range``, and
what ``transformer_mb.check`` offers for it. Nothing in it is executed, so that it cannot change the judge.
"""

from __future__ import annotations

import ast
import hashlib
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .. import check
from ..errors import ConfigError
from ..files.regular import read_regular_file

LARGEST, MOST = 1_000_000, 100_000  # bytes of a file, and values that it may make
NAMES = ("REFERENCE", "CANDIDATE", "WEIGHTS", "INPUTS", "SIZES", "SHARED", "GRADIENTS")
OFFERED = (
    *("torch", "flax", "linen", "keras", "paddle", "gluon", "numpy", "onnx", "function"),
    *("floats", "ids", "lengths", "masks", "weight", "stack", "KEPT"),
)
OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
    }
)


@dataclass(frozen=True)
class Port:
    """The comparison that a file asks for.

    Args:
        path: of the file; digest: SHA-256 of its bytes.
        shared: files beside it that both sides may import. gradients: whether gradients are compared.
    """

    path: Path
    digest: str
    reference: check.Subject
    candidate: check.Subject
    weights: Mapping[Any, Any] | None
    inputs: Mapping[str, check.Input]
    sizes: Mapping[str, int]
    shared: tuple[str, ...] = ()
    gradients: bool = True


def read_port(path: Path) -> Port:
    """Read a file. Raises ConfigError, naming the line, for what is no such file."""
    try:
        text = bytes(read_regular_file(path, LARGEST))
        tree = ast.parse(text)
    except OSError as error:
        raise ConfigError(f"The file of a port cannot be read: {path}: {error.strerror or error}.") from None
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ConfigError(f"{path} must be Python, got {error}.") from None
    reader = _Reader(path)
    found = reader.read(tree)
    missing = [name for name in ("REFERENCE", "CANDIDATE", "INPUTS") if name not in found]
    if missing:
        raise ConfigError(f"{path} must set {', '.join(missing)}, got {', '.join(found) or 'nothing'}.")
    if unused := [name for name in reader.values if name not in {*NAMES, *reader.used, *reader.imported}]:
        raise ConfigError(f"{path} sets {', '.join(unused)}, which nothing uses: what counts is {', '.join(NAMES)}.")
    return Port(
        path.resolve(),
        hashlib.sha256(text).hexdigest(),
        _of(path, found, "REFERENCE", check.Subject),
        _of(path, found, "CANDIDATE", check.Subject),
        _of(path, found, "WEIGHTS", dict | None, None),
        _of(path, found, "INPUTS", dict),
        _of(path, found, "SIZES", dict, {}),
        tuple(_of(path, found, "SHARED", list | tuple, ())),
        _of(path, found, "GRADIENTS", bool, True),
    )


def _of(path: Path, found: Mapping[str, Any], name: str, kind: Any, default: Any = None) -> Any:
    value = found.get(name, default)
    if not isinstance(value, kind):
        wanted = getattr(kind, "__name__", str(kind))
        raise ConfigError(f"{name} in {path} must be a {wanted}, got {value!r:.80}.")
    return value


class _RefusedError(ConfigError):
    """The refusal of a form, which names its line."""


class _Reader:
    """An evaluator of the few forms that a port's file has."""

    def __init__(self, path: Path):
        self.path, self.values, self.made = path, dict[str, Any](), 0
        self.used, self.imported = set[str](), set[str]()

    def read(self, tree: ast.Module) -> dict[str, Any]:
        for node in tree.body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                continue  # a docstring
            if isinstance(node, ast.ImportFrom):
                self._imported(node)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.values[node.targets[0].id] = self.value(node.value, self.values)
            else:
                self._refuse(node)
        return {name: value for name, value in self.values.items() if name in NAMES}

    def _refuse(self, node: ast.AST, why: str = "") -> Any:
        line = getattr(node, "lineno", 0)
        form = why or f"got {ast.unparse(node)!r:.60}"
        raise _RefusedError(
            f"Line {line} of {self.path} must be a value, made of literals, f-strings, comprehensions over range() and "
            f"check.{', check.'.join(OFFERED[:3])} and so on, {form}."
        )

    def _imported(self, node: ast.ImportFrom) -> None:
        names = {alias.asname or alias.name: alias.name for alias in node.names}
        self.imported |= set(names)
        if node.module == "transformer_mb" and set(names.values()) == {"check"} and not node.level:
            self.values |= dict.fromkeys(names, check)
        elif node.module == "transformer_mb.check" and set(names.values()) <= set(OFFERED) and not node.level:
            self.values |= {name: getattr(check, of) for name, of in names.items()}
        else:
            self._refuse(node)

    def value(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        self.made += 1
        if self.made > MOST:
            self._refuse(node, f"got more than {MOST} values")
        form = FORMS.get(type(node))
        if form is None:
            return self._refuse(node)
        try:
            return form(self, node, names)
        except _RefusedError:  # what is inside has said it
            raise
        except (TypeError, ValueError, KeyError, IndexError, ZeroDivisionError, OverflowError) as error:
            return self._refuse(node, f"got {str(error).rstrip('.')}")

    def constant(self, node: ast.Constant, names: Mapping[str, Any]) -> Any:
        return node.value

    def name(self, node: ast.Name, names: Mapping[str, Any]) -> Any:
        self.used.add(node.id)
        return names[node.id] if node.id in names else self._refuse(node, f"got the unknown name {node.id}")

    def several(self, node: ast.Tuple | ast.List, names: Mapping[str, Any]) -> Any:
        return {ast.Tuple: tuple, ast.List: list}[type(node)](self.value(one, names) for one in node.elts)

    def mapping(self, node: ast.Dict, names: Mapping[str, Any]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            made |= self.value(value, names) if key is None else {self.value(key, names): self.value(value, names)}
        return made

    def text(self, node: ast.JoinedStr, names: Mapping[str, Any]) -> str:
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        return "".join(str(self.value(part, names)) for part in parts)

    def negative(self, node: ast.UnaryOp, names: Mapping[str, Any]) -> Any:
        value = self.value(node.operand, names)
        return -value if isinstance(node.op, ast.USub) and isinstance(value, int | float) else self._refuse(node)

    def combined(self, node: ast.BinOp, names: Mapping[str, Any]) -> Any:
        left, right = self.value(node.left, names), self.value(node.right, names)
        if isinstance(node.op, ast.BitOr) and isinstance(left, dict) and isinstance(right, dict):
            return left | right
        numbers = all(isinstance(one, int | float) for one in (left, right)) or any(map(_ours, (left, right)))
        joined = isinstance(node.op, ast.Add) and type(left) is type(right)
        if type(node.op) not in OPERATORS or not (numbers or joined):
            return self._refuse(node)
        return OPERATORS[type(node.op)](left, right)

    def attribute(self, node: ast.Attribute, names: Mapping[str, Any]) -> Any:
        owner = self.value(node.value, names)
        if node.attr.startswith("_") or not (_ours(owner) or (owner is check and node.attr in OFFERED)):
            return self._refuse(node)
        return getattr(owner, node.attr)

    def part(self, node: ast.Subscript, names: Mapping[str, Any]) -> Any:
        return self.value(node.value, names)[self.value(node.slice, names)]

    def slice(self, node: ast.Slice, names: Mapping[str, Any]) -> slice:
        return slice(*(None if one is None else self.value(one, names) for one in (node.lower, node.upper, node.step)))

    def call(self, node: ast.Call, names: Mapping[str, Any]) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "range" and not node.keywords:
            numbers = range(*(self.value(one, names) for one in node.args))
            return numbers if len(numbers) <= MOST else self._refuse(node, f"got more than {MOST} numbers")
        if not isinstance(node.func, ast.Name | ast.Attribute) or any(isinstance(one, ast.Starred) for one in node.args):
            return self._refuse(node)
        keywords: dict[Any, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, names)
            keywords |= value if keyword.arg is None else {keyword.arg: value}
        arguments = [self.value(one, names) for one in node.args]
        if arguments and isinstance(arguments[0], str) and ".py:" in arguments[0]:  # beside this file, wherever one runs it
            arguments[0] = str(self.path.absolute().parent / arguments[0])
        return self.value(node.func, names)(*arguments, **keywords)

    def comprehension(self, node: ast.DictComp | ast.ListComp, names: Mapping[str, Any]) -> Any:
        rows = self._rows(node.generators, dict(names))
        if isinstance(node, ast.ListComp):
            return [self.value(node.elt, inner) for inner in rows]
        return {self.value(node.key, inner): self.value(node.value, inner) for inner in rows}

    def _rows(self, generators: list[ast.comprehension], names: dict[str, Any]) -> Any:
        if not generators:
            yield names
            return
        first, *rest = generators
        if first.ifs or first.is_async:
            self._refuse(first.target)
        for value in self.value(first.iter, names):
            targets = first.target.elts if isinstance(first.target, ast.Tuple) else [first.target]
            given = value if isinstance(first.target, ast.Tuple) else [value]
            if not all(isinstance(target, ast.Name) for target in targets):
                self._refuse(first.target)
            inner = {target.id: one for target, one in zip(targets, given, strict=True) if isinstance(target, ast.Name)}
            yield from self._rows(rest, names | inner)


def _ours(value: Any) -> bool:
    """Tell what ``transformer_mb.check`` has made: its methods only make others of its kind."""
    return type(value).__module__.startswith(f"{check.__name__}.")


FORMS: Mapping[type, Callable[[_Reader, Any, Mapping[str, Any]], Any]] = MappingProxyType(
    {
        ast.Constant: _Reader.constant,
        ast.Name: _Reader.name,
        ast.Tuple: _Reader.several,
        ast.List: _Reader.several,
        ast.Dict: _Reader.mapping,
        ast.JoinedStr: _Reader.text,
        ast.UnaryOp: _Reader.negative,
        ast.BinOp: _Reader.combined,
        ast.Attribute: _Reader.attribute,
        ast.Subscript: _Reader.part,
        ast.Slice: _Reader.slice,
        ast.Call: _Reader.call,
        ast.DictComp: _Reader.comprehension,
        ast.ListComp: _Reader.comprehension,
    }
)
