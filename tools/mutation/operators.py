"""The mistakes: each operator finds where it applies and says what would stand there instead.

An ast mutator of our own: cosmic-ray, the best known, brings nineteen packages (SQLAlchemy, aiohttp, GitPython, ...), changes
annotations and messages too, and has none of the mistakes that frameworks invite: two arguments taken for each other, a
term or a keyword left out, a dtype lowered, a gradient cut off.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .left_out import KEYWORDS_LEFT_OUT
from .sources import Source, asks_where_it_runs, called, keyword_name

Node = ast.AST
Text = str


class Edit(NamedTuple):
    """Characters ``start`` to ``end`` of a source, and what comes in their place."""

    start: int
    end: int
    text: Text


Operator = Callable[[Source, Node, Node], Iterator[Edit]]

OTHER_ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
OTHER_COMPARISONS: dict[type, tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">")),
    ast.LtE: ("<=", ("<", ">=")),
    ast.Gt: (">", (">=", "<")),
    ast.GtE: (">=", (">", "<=")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
LOWER = {"float64": ("float32",), "float32": ("bfloat16", "float16")}
CASTS = ("float", "double", "long", "astype", "cast", "convert_element_type", "as_type")
# Methods whose result can stand for what they are called on.
REMOVABLE = ("masked_fill", "index_fill", "clamp", "clip", "tril", "detach", "stop_gradient", "transpose", "copy", "reorder")
# How each framework keeps a gradient from an expression: by a function that leaves alone what is no tensor (see frameworks.py).
DETACHED_FILES = (
    "attention.py",
    "decoder.py",
    "dropout.py",
    "embedding.py",
    "encoder.py",
    "feed_forward.py",
    "loss.py",
    "model.py",
    "normalization.py",
)


def _whole(source: Source, node: Node, text: Text) -> Edit:
    return Edit(source.start(node), source.end(node), text)


def _between(source: Source, first: Node, second: Node, old: Text, new: Text) -> Iterator[Edit]:
    """Replace the operator that stands between two operands, with whatever parentheses they have."""
    start, end = source.end(first), source.start(second)
    gap = source.text[start:end]
    if "#" not in gap and gap.count(old) == 1:
        yield Edit(start, end, gap.replace(old, new))


def _is_text(node: Node) -> bool:
    """An operand of which + makes a longer one, and - nothing."""
    return isinstance(node, ast.JoinedStr | ast.Tuple | ast.List | ast.ListComp | ast.Dict) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def arithmetic(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """+ for -, * for /, and the reverse; in += and its like too."""
    if isinstance(node, ast.BinOp) and type(node.op) in OTHER_ARITHMETIC and not (_is_text(node.left) or _is_text(node.right)):
        yield from _between(source, node.left, node.right, *OTHER_ARITHMETIC[type(node.op)])
    if isinstance(node, ast.AugAssign) and type(node.op) in OTHER_ARITHMETIC:
        yield from _between(source, node.target, node.value, *OTHER_ARITHMETIC[type(node.op)])


def comparison(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """The boundary moved, or the other way round."""
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for i, kind in enumerate(node.ops):
            old, others = OTHER_COMPARISONS[type(kind)]
            for new in others:
                yield from _between(source, operands[i], operands[i + 1], f" {old} ", f" {new} ")


def number(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """A whole number one more or one less; another one twice as large, 0.0 as 1.0."""
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return
    if isinstance(node.value, int) and not _is_found_out(source, node, parent):
        yield _whole(source, node, str(node.value + 1))
        # -1 is written as the number 1 behind a minus.
        yield _whole(source, node, str(node.value - 1) if node.value else "(-1)")
    elif isinstance(node.value, float):
        yield _whole(source, node, repr(2.0 * node.value) if node.value else "1.0")


def _is_found_out(source: Source, node: Node, parent: Node) -> bool:
    """The size that a reshape is to find out: some frameworks take any negative number for -1."""
    call = source.parents.get(parent)
    return isinstance(parent, ast.UnaryOp) and called(call or node) in ("reshape", "unflatten", "view")


def truth(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield _whole(source, node, str(not node.value))


def logic(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """``and`` for ``or``, & for |; a ``not``, ~ or - left out."""
    if isinstance(node, ast.BoolOp):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for first, second in zip(node.values, node.values[1:], strict=False):
            if not asks_where_it_runs(first) and not asks_where_it_runs(second):
                yield from _between(source, first, second, f" {old} ", f" {new} ")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        old, new = ("&", "|") if isinstance(node.op, ast.BitAnd) else ("|", "&")
        yield from _between(source, node.left, node.right, old, new)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert | ast.USub):
        yield Edit(source.start(node), source.start(node.operand), "")


def condition(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """The other branch taken."""
    if isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
        if asks_where_it_runs(node.test):
            return
        yield _whole(source, node.test, f"not ({source.text_of(node.test)})")


def swapped_arguments(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """Two neighbouring positional arguments in each other's place."""
    if isinstance(node, ast.Call) and called(node) not in ("isinstance", "getattr", "hasattr", "partial", "zip"):
        for first, second in zip(node.args, node.args[1:], strict=False):
            texts = source.text_of(first), source.text_of(second)
            if texts[0] != texts[1] and not {type(first), type(second)} & {ast.Starred, ast.GeneratorExp}:
                middle = source.text[source.end(first) : source.start(second)]
                yield Edit(source.start(first), source.end(second), texts[1] + middle + texts[0])


def dropped_term(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """A term of a sum, a factor of a product, or one of two masks or conditions, left out."""
    if isinstance(node, ast.BinOp):
        both = isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr)
        if both or isinstance(node.op, ast.Sub | ast.Div):
            yield _whole(source, node, f"({source.text_of(node.left)})")
        if both:
            yield _whole(source, node, f"({source.text_of(node.right)})")
    if isinstance(node, ast.BoolOp):
        for left_out in node.values:
            if asks_where_it_runs(left_out):
                continue
            rest = [f"({source.text_of(value)})" for value in node.values if value is not left_out]
            yield _whole(source, node, f"({(' and ' if isinstance(node.op, ast.And) else ' or ').join(rest)})")


def dropped_keyword(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """A keyword argument left to its default."""
    if isinstance(node, ast.Call) and called(node) not in ("partial",):
        for keyword in node.keywords:
            if keyword_name(keyword) in KEYWORDS_LEFT_OUT:
                continue
            start, end = source.start(keyword), source.end(keyword)
            after = re.match(r"\s*,\s*", source.text[end:])
            before = re.search(r",\s*$", source.text[:start])
            if before:
                yield Edit(before.start(), end, "")
            else:
                yield Edit(start, end + (after.end() if after else 0), "")


def dropped_call(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """A cast, a mask or a clamp left out: what it is applied to stays. Of a ``where`` either branch."""
    name = called(node)
    if not isinstance(node, ast.Call) or isinstance(parent, ast.Expr):
        return
    method = isinstance(node.func, ast.Attribute) and not _is_module(node.func.value)
    if name in (*CASTS, *REMOVABLE):
        if method:
            yield _whole(source, node, source.text_of(node.func.value))  # type: ignore[attr-defined]
        elif node.args:
            yield _whole(source, node, f"({source.text_of(node.args[0])})")
    if name == "where" and len(node.args) == 3:
        for branch in node.args[1:]:
            yield _whole(source, node, f"({source.text_of(branch)})")


def _is_module(node: Node) -> bool:
    """The names by which backends import their framework."""
    name = ast.unparse(node)
    return re.fullmatch(r"(np|jnp|mnp|npx|tf|jax|torch|paddle|keras|mx|F|lax|nnx)(\.\w+)*", name) is not None


def lowered_dtype(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    if isinstance(node, ast.Attribute) and node.attr in LOWER and _is_module(node.value):
        for lower in LOWER[node.attr]:
            yield Edit(source.end(node) - len(node.attr), source.end(node), lower)
    if isinstance(node, ast.Constant) and node.value in LOWER and not isinstance(parent, ast.Tuple | ast.Compare):
        for lower in LOWER[node.value]:
            yield _whole(source, node, f'"{lower}"')


def cut_gradient(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """Let no gradient pass what is assigned or returned, nor a call's argument or an operand."""
    if source.backend == "numpy" or source.name not in DETACHED_FILES:
        return  # its gradients are derived by hand
    value = getattr(node, "value", None)
    if source.function_of(node) in ("", "__init__", "from_config"):
        return
    if isinstance(node, ast.Assign | ast.Return) and isinstance(value, ast.Call | ast.BinOp):
        yield _whole(source, value, f"detached({source.text_of(value)})")
    if isinstance(node, ast.BinOp):
        for operand in (node.left, node.right):
            if isinstance(operand, ast.Name | ast.Attribute | ast.Call):
                yield _whole(source, operand, f"detached({source.text_of(operand)})")


def dropped_statement(source: Source, node: Node, parent: Node) -> Iterator[Edit]:
    """A line that was forgotten."""
    forgotten = isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    set_within = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
    if (forgotten or set_within) and "super().__init__" not in source.text_of(node):
        yield _whole(source, node, "pass")


OPERATORS: dict[str, Operator] = {
    function.__name__.replace("_", " "): function
    for function in (
        arithmetic,
        comparison,
        number,
        truth,
        logic,
        condition,
        swapped_arguments,
        dropped_term,
        dropped_keyword,
        dropped_call,
        lowered_dtype,
        cut_gradient,
        dropped_statement,
    )
}
