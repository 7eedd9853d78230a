"""The files that mistakes are made in, as text and as trees without what is left alone."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from transformer_mb.built_in import BUILT_IN

from .left_out import (
    ATTRIBUTES_LEFT_OUT,
    CHECKS,
    CONDITIONS_LEFT_OUT,
    CONSTANTS_LEFT_OUT,
    DECLARED_LEFT_OUT,
    FALSE_IN_CELLS,
    FILES_LEFT_OUT,
    FUNCTIONS_LEFT_OUT,
    KEYWORDS_LEFT_OUT,
    NAMES_LEFT_OUT,
    ON_PROCESSORS,
    UNASKED,
)

ROOT = Path(__file__).parents[2]
BACKENDS = tuple(BUILT_IN)
# What all backends share and compute with, judged by NumPy's cells: the reference has code of its own for it.
SHARED = "shared"
PARTS = (*BACKENDS, SHARED)


def folder(part: str) -> Path:
    return ROOT / "transformer_mb" if part == SHARED else ROOT / "backends" / part


def judge_of(part: str) -> str:
    """The backend whose cells judge its mistakes."""
    return "numpy" if part == SHARED else part


def module(part: str, name: str) -> str:
    """The full name of the module in a file."""
    inside = "" if part == SHARED else f"backends.{part}."
    return f"transformer_mb.{inside}{name.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"


def called(node: ast.AST) -> str:
    """The last name of what a call calls; empty for another node."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


@dataclass(frozen=True)
class Place:
    """The place of a node: its function (``Class.method``; empty in the module), its statement, its first and last line.

    ``lines`` are those whose execution means that the node may have been evaluated.
    """

    function: str
    statement: ast.stmt
    lines: range


class Source:
    """A file of a backend, as text and as tree."""

    def __init__(self, backend: str, name: str, text: str | None = None):
        self.backend, self.name = backend, name
        self.path = folder(backend) / name
        self.text = self.path.read_text() if text is None else text
        self.tree = ast.parse(self.text)

    @property
    def file(self) -> str:
        return f"{self.backend}/{self.name}"

    @cached_property
    def offsets(self) -> list[int]:
        """Offsets of each line's first character; the files' characters are single bytes, which a test holds."""
        offsets = [0]
        for line in self.text.splitlines(keepends=True):
            offsets.append(offsets[-1] + len(line))
        return offsets

    def start(self, node: ast.AST) -> int:
        return self.offsets[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self.offsets[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text_of(self, node: ast.AST) -> str:
        return self.text[self.start(node) : self.end(node)]

    @cached_property
    def nodes(self) -> list[tuple[ast.AST, ast.AST, Place]]:
        """Every node in which a mistake may be made, its parent, and where it stands."""
        found: list[tuple[ast.AST, ast.AST, Place]] = []
        for statement in self.tree.body:
            self._visit(statement, self.tree, Place("", statement, _header(statement)), found)
        return found

    def _visit(self, node: ast.AST, parent: ast.AST, place: Place, found: list[tuple[ast.AST, ast.AST, Place]]) -> None:
        if isinstance(node, ast.stmt):
            place = Place(place.function, node, _header(node))
        if _left_alone(node):
            return
        found.append((node, parent, place))
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inside = f"{place.function}.{node.name}".removeprefix(".")
            for default in (*_defaults(node), *getattr(node, "bases", ())):
                # A default is evaluated by the import, and matters to callers of the function.
                body = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
                self._visit(default, node, Place(inside, node, body), found)
            for statement in node.body:
                self._visit(statement, node, Place(inside, statement, _header(statement)), found)
            return
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_comment", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self._visit(child, node, place, found)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def function_of(self, node: ast.AST) -> str:
        """The name of the innermost function around a node; empty in a class or the module."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.FunctionDef):
                return node.name
        return ""


def _defaults(node: ast.AST) -> list[ast.expr]:
    if not isinstance(node, ast.FunctionDef):
        return []
    arguments = [*node.args.posonlyargs, *node.args.args]
    arguments = [*arguments[len(arguments) - len(node.args.defaults) :], *node.args.kwonlyargs]
    defaults = zip(arguments, (*node.args.defaults, *node.args.kw_defaults), strict=True)
    return [default for argument, default in defaults if default is not None and argument.arg not in NAMES_LEFT_OUT]


def _header(statement: ast.stmt) -> range:
    """The lines of a statement without the statements in it."""
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    inner = getattr(statement, "body", None)
    return range(first, max(first + 1, inner[0].lineno) if inner else last + 1)


def _left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise | ast.Assert | ast.JoinedStr | ast.Global):
        return True
    if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[0], ast.Raise):  # a check
        return True
    if isinstance(node, ast.AnnAssign) and node.value is None:  # a type alone
        return True
    if isinstance(node, ast.FunctionDef) and (node.name in FUNCTIONS_LEFT_OUT or CHECKS.fullmatch(node.name)):
        return True
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        names = CONSTANTS_LEFT_OUT if isinstance(node, ast.Assign) else DECLARED_LEFT_OUT
        name = getattr(getattr(target, "elts", [target])[0], "id", "")
        if name in names or getattr(target, "attr", "") in ATTRIBUTES_LEFT_OUT:
            return True
    if isinstance(node, ast.BoolOp) and (getattr(node.values[0], "id", "") in NAMES_LEFT_OUT or is_of_elsewhere(node)):
        return True
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    if (negated or isinstance(node, ast.Compare)) and asks_where_it_runs(node):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _left_alone(node.value)  # a docstring, or a check
    if isinstance(node, ast.keyword) and keyword_name(node) in KEYWORDS_LEFT_OUT:
        return True
    return CHECKS.fullmatch(called(node)) is not None or called(node) in FUNCTIONS_LEFT_OUT


def keyword_name(keyword: ast.keyword) -> str:
    """The name of an argument, or of the many that two stars hand on."""
    return keyword.arg or getattr(keyword.value, "id", "")


def asks_where_it_runs(condition: ast.AST) -> bool:
    """Tell whether a condition reads what is answered alike wherever cells run."""
    return _reads(condition, CONDITIONS_LEFT_OUT)


def is_of_elsewhere(condition: ast.AST) -> bool:
    """Tell whether a condition is false wherever cells run, so that nothing beside it in an ``and`` matters."""
    if isinstance(condition, ast.BoolOp):
        rule = any if isinstance(condition.op, ast.And) else all
        return rule(is_of_elsewhere(value) for value in condition.values)
    if isinstance(condition, ast.Compare):
        return isinstance(condition.ops[0], ast.NotEq) and _reads(condition, ON_PROCESSORS)
    return isinstance(condition, ast.Attribute | ast.Call) and _reads(condition, FALSE_IN_CELLS)


def _reads(node: ast.AST, names: Collection[str]) -> bool:
    return any(_word(each) in names for each in ast.walk(node))


def _word(node: ast.AST) -> Any:
    """An attribute, a name or a key; None for another node."""
    return next((value for _, value in ast.iter_fields(node) if isinstance(value, str)), None)


def sources(part: str) -> list[Source]:
    """The files of a backend, or of what all share, in which mistakes are made."""
    return [Source(part, name) for name in names(part) if not {name, f"{part}/{name}"} & FILES_LEFT_OUT.keys()]


def names(part: str) -> list[str]:
    """The names of a part's files, within its folder."""
    if part != SHARED:
        return sorted(str(path.relative_to(folder(part))) for path in folder(part).rglob("*.py"))
    decoding = sorted(f"decoding/{path.name}" for path in (folder(part) / "decoding").glob("[!_]*.py"))
    return ["initialization.py", "masks.py", "positions.py", "trainer.py", *decoding, "distributed/shares.py", *UNASKED]
