"""Six implementations of one thing, cut out of the backends' files by their syntax trees."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

BACKENDS = Path(__file__).parents[2] / "backends"
NAMES = {
    "numpy": "NumPy",
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "paddle": "PaddlePaddle",
    "mxnet": "MXNet",
    "jax": "JAX",
}
CALLS = ("forward", "call", "__call__")  # what frameworks name a layer's call
# What a comment says to linters alone; words may follow, with a # or a dash before them.
TO_LINTERS = re.compile(
    r"#\s*(noqa\b(: *[A-Z]+\d+(, *[A-Z]+\d+)*)?|type: *ignore(\[[\w, -]+\])?|(fmt|isort|mypy|pragma|ruff): *[^#]+)[\s-]*"
)


@dataclass(frozen=True)
class Statement:
    """A statement, or the head of one that holds others; ``meaning``: what is compared, which is the same in twins."""

    first: int
    last: int
    meaning: str
    words: str = ""  # of a docstring


@dataclass(frozen=True)
class Cut:
    """Lines ``first`` to ``last`` of a file, counted from 1; statements and comments have its line numbers."""

    path: str  # from the root of the repository
    first: int
    last: int
    lines: tuple[str, ...]
    statements: tuple[Statement, ...]
    comments: Mapping[int, str]


@cache
def _source(backend: str, file: str) -> tuple[str, ast.Module]:
    text = (BACKENDS / backend / file).read_text(encoding="utf-8")
    return text, ast.parse(text)


def cut(backend: str, file: str, name: str) -> Cut:
    """The function, class, method or table ``name`` of a backend's file. Raises LookupError where there is none."""
    text, tree = _source(backend, file)
    node = _find(tree, name.split("."))
    if node is None:
        raise LookupError(f"backends/{backend}/{file} must have {name}, for the page that shows it.")
    first, last = _first_line(node), node.end_lineno or node.lineno
    lines = tuple(text.splitlines()[first - 1 : last])
    comments = {n + first - 1: words for n, words in _comments(lines).items()}
    return Cut(f"backends/{backend}/{file}", first, last, lines, tuple(_statements([node], text.splitlines())), comments)


def _find(tree: ast.Module | ast.ClassDef, names: list[str]) -> ast.stmt | None:
    wanted = CALLS if names[0] in CALLS else (names[0],)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in wanted:
            return node if len(names) == 1 else _find(node, names[1:]) if isinstance(node, ast.ClassDef) else None
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        if any(isinstance(target, ast.Name) and target.id in wanted for target in targets):
            return node
    return None


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])


def _comments(lines: tuple[str, ...]) -> dict[int, str]:
    """The comments of lines that may be indented, by line, without what they say to linters."""
    margin = len(lines[0]) - len(lines[0].lstrip())
    text = "\n".join(line[margin:] for line in lines) + "\n"
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    words = {
        token.start[0]: TO_LINTERS.sub("", token.string).lstrip("# ") for token in tokens if token.type == tokenize.COMMENT
    }
    return {line: said for line, said in words.items() if said}


def _statements(nodes: list[ast.stmt], lines: list[str]) -> Iterator[Statement]:
    for node in nodes:
        first = _first_line(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Statement(first, node.end_lineno or first, repr(node.value.value), " ".join(node.value.value.split()))
            continue
        inner = [getattr(node, part, []) for part in ("body", "handlers", "orelse", "finalbody")]
        if not inner[0]:
            yield Statement(first, node.end_lineno or first, _meaning(node))
            continue
        last = max(first, _first_line(inner[0][0]) - 1)
        while last > first and lines[last - 1].strip().startswith("#"):
            last -= 1
        yield Statement(first, last, _meaning(node))
        for part in inner:
            yield from _statements(part, lines)


class _Neutral(ast.NodeTransformer):
    """Takes away what the frameworks name differently, and what annotations say."""

    MODULES = ("np", "mnp", "npx", "jnp", "tf", "torch", "paddle", "F", "nn")

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.MODULES:
            node.value = ast.Name("framework")
        node.attr = "__call__" if node.attr in CALLS else node.attr
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        return ast.Assign([node.target], node.value or ast.Constant(None))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns, node.name = None, "__call__" if node.name in CALLS else node.name
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.bases, node.keywords = [], []
        return node


def _meaning(node: ast.AST) -> str:
    """The statement in neutral words; of one that holds others, its head."""
    node = ast.parse(ast.unparse(node)).body[0] if isinstance(node, ast.stmt) else node
    for part in ("body", "orelse", "finalbody", "handlers"):
        if hasattr(node, part) and isinstance(getattr(node, part), list):
            setattr(node, part, [ast.Pass()] if part == "body" else [])
    if isinstance(node, ast.Try):
        return "try"
    return ast.unparse(ast.fix_missing_locations(_Neutral().visit(node)))
