"""The files that mistakes are made in, and what of them is left alone: one line says why."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from transformer_mb.built_in import BUILT_IN

ROOT = Path(__file__).parents[2]
BACKENDS = tuple(BUILT_IN)
# What all backends share and compute with, judged by NumPy's cells: the reference has code of its own for it.
SHARED = "shared"
PARTS = (*BACKENDS, SHARED)

# What no cell does to a layer, and where it is tried.
HELD = "transformer_mb/conformance/test_shortcuts.py, tests/native/test_mxnet_watched.py and test_torch_tools.py hold it"
REPLACED = f"whether a user has replaced the layer; {HELD}"
WATCHED = f"whether a user has put hooks on the layer; {HELD}"
SHOWN = "is shown, not computed with; transformer_mb/conformance/test_printed_values.py holds it"

# Files without mathematics of the layers.
FILES_LEFT_OUT = {
    "__init__.py": "names and documentation; tests/meta/test_contract.py holds them",
    "given.py": "refuses what a caller gives wrongly; transformer_mb/conformance/test_bad_*.py hold it",
    "numpy/rounding.py": "what the verdict measures two-byte formats by; tests/parity/test_rounding.py holds it",
    "numpy/int8.py": "what the verdict measures eight bits by; tests/parity/test_yardsticks.py holds it",
    "jax/shortcuts/compilation.py": "how thoroughly a program is compiled; tests/native/test_jax_compiled.py holds it",
    "mxnet/shim.py": "makes MXNet importable, once for a process; tests/native/test_mxnet.py holds it",
    "mxnet/shortcuts/threads.py": "how many threads compute; tests/native/test_mxnet_threads.py holds it",
    "paddle/shortcuts/threads.py": "how many threads compute; tests/native/test_paddle.py holds it",
    "torch/shortcuts/threads.py": "how many threads compute; tests/native/test_torch_short_ways.py holds it",
    "torch/shortcuts/one_row.py": "which library multiplies; tests/native/test_torch_short_ways.py holds it",
    "torch/shortcuts/recorded_steps.py": "of a GPU; tests/native/test_torch_recorded_steps.py and test_torch_on_gpu.py hold it",
    "shared/decoding/ensemble.py": "of several models: no cell has any; transformer_mb/conformance/test_rows_apart.py holds it",
    "shared/decoding/inputs.py": "refuses what a caller gives wrongly; transformer_mb/conformance/test_bad_*.py hold it",
    "shared/decoding/prompts.py": "rows set apart, as in no cell; transformer_mb/conformance/test_prompts.py holds it",
    "shared/decoding/generation_config.py": "given to transformers' searches; tests/porting/test_generation.py holds it",
    "shared/decoding/generate.py": "transformers' searches, as in no cell; tests/porting/test_decoders_generation.py holds it",
    "shared/decoding/score_rules.py": "transformers' rules, as in no cell; tests/porting/test_decoders_generation.py holds it",
    "shared/training/schedules.py": "no cell has a schedule; tests/core/test_training_loop.py holds it",
    "shared/checkpoint/averaging.py": "no cell averages; tests/core/test_best_models.py holds it",
}
UNASKED = ("training/schedules.py", "checkpoint/averaging.py")  # what all share too, and no cell asks for
FUNCTIONS_LEFT_OUT = {
    "import_paths": "of a Python without setuptools; tests/native/test_torch_compiled.py holds it",
    **dict.fromkeys(("extra_repr", "__repr__"), SHOWN),
    "__post_init__": "refuses options; tests/core/test_training_steps.py holds it",
    "keep_freed_memory": "how soon the machine gives memory again, not what is computed",
    "expect": "of several processes; tests/distributed/test_*.py hold it",
    "version": "is shown, not computed with",
    **dict.fromkeys(("devices", "find_device"), "of other devices than the tests have; `make parity` on a GPU holds it"),
    "device_name": "is shown, not computed with",
    "_remember": "what Keras' export asks for; tests/native/test_tensorflow_tools.py holds it",
    "get_config": "saving by Keras itself; tests/native/test_tensorflow_files.py holds it",
    "leave_room": "when JAX forgets programs; tests/native/test_jax.py holds it",
    "keep_programs": "what later processes load; tests/native/test_jax_compilation_cache.py holds it",
    **dict.fromkeys(("is_watched", "_is_read"), WATCHED),
    "seeded_dropout": "each framework's own random numbers; transformer_mb/conformance/test_dropout.py holds it",
    "_are_all_in_one": "Keras' own calls with one list; tests/native/test_tensorflow.py holds them",
    "_named_inputs": "Keras' own calls with names; tests/native/test_tensorflow.py holds them",
    "untrack": "Keras' own account of a layer's parts; tests/native/test_tensorflow_files.py holds it",
    "compute_output_spec": "shapes that Keras asks for; tests/native/test_tensorflow.py holds them",
}
ATTRIBUTES_LEFT_OUT = {
    "built": "Keras' own account of what it has built; tests/native/test_tensorflow.py holds it",
    "supports_masking": "Keras' own masks; tests/native/test_tensorflow.py holds them",
    "_allow_non_tensor_positional_args": "Keras' own calls with lists of numbers; tests/native/test_tensorflow.py holds them",
}
# What a contract declares with its type.
DECLARED_LEFT_OUT = {
    "compiles": "what a trainer offers; transformer_mb/conformance/test_trainer.py holds it",
    "always_compiles": "what a report says of a trainer; tests/core/test_training_reports.py holds it",
    "few_shapes": "how a program batches; tests/core/test_batch_tokens.py holds it",
    "imitates_int8": "what the command line says of a speed; tests/core/test_slower_precision.py holds it",
}
CONSTANTS_LEFT_OUT = {
    "always_compiles": "what a report says of a trainer; tests/core/test_training_reports.py holds it",
    "traced": "whether a framework's tool traces a call, as none in a cell; tests/native/test_torch_short_ways.py holds it",
    "__all__": "names; tests/meta/test_contract.py holds them",
    "COLDEST": "a limit of a check; transformer_mb/conformance/test_sampling.py holds it",
    "SMALLEST_SHARE": "a limit of a check; transformer_mb/conformance/test_sampling.py holds it",
    "LARGEST_BEAM": "a limit of a check; tests/cli/test_given_files.py holds it",
    "LARGEST_LENGTH_PENALTY": "a limit of a check; tests/cli/test_translate_lines.py holds it",
    "LARGEST_COVERAGE_PENALTY": "a limit of a check; tests/cli/test_search_commands.py holds it",
}
# By what they are called: arguments, defaults, and the names that an ``or`` gives a default.
NAMES_LEFT_OUT = {
    "reduce_range": "products of processors without some instructions; tests/native/test_torch_int8.py holds it",
    "rngs": "JAX' own random numbers; tests/native/test_jax.py and transformer_mb/conformance/test_dropout.py hold them",
    "top_p": "its default alone; transformer_mb/conformance/test_sampling.py holds it",
    "param_dtype": "its default alone: the dtype of a JAX layer where nobody says one; tests/native/test_jax.py holds it",
}
# Names, attributes and keys by which a condition asks what is answered alike wherever cells run.
CONDITIONS_LEFT_OUT = {
    "device": "which branch is taken on another device; `make parity` on a GPU and tests/native/test_torch_on_gpu.py hold it",
    "devices": "which branch is taken on several devices; tests/distributed/test_*.py hold it",
    "models": "whether several models decode as one, as in no cell; transformer_mb/conformance/test_rows_apart.py holds it",
    "sessions": "whether several models decode as one; transformer_mb/conformance/test_rows_apart.py holds it",
    "device_type": "which branch is taken on another device; `make parity` on a GPU holds it",
    **dict.fromkeys(("forward", "call"), REPLACED),
    **dict.fromkeys(("is_watched", "_forward_hooks", "_forward_pre_hooks", "_forward_post_hooks"), WATCHED),
    **dict.fromkeys(("__setattr__", "train"), "whether a layer's class is the user's own; tests/native/test_torch.py holds it"),
    "is_autocast_enabled": "whether a user lets torch cast; tests/native/test_torch_short_ways.py holds it",
    "is_tracing": "whether torch.jit traces a call, as in no cell; tests/native/test_torch_tools.py holds it",
    "executing_eagerly": "whether a graph is made, as in no cell here; tests/native/test_tensorflow.py holds it",
    "traced": "whether a framework's tool traces a call, as none in a cell; tests/native/test_torch_short_ways.py holds it",
    "processes": "which branch is taken in several processes, which no cell has; tests/distributed/test_*.py hold it",
    "complete": "whether a function makes arrays but by operators, as none in a cell; tests/native/test_mxnet.py holds it",
    "is_cuda": "which branch is taken on another device; `make parity` on a GPU and tests/native/test_torch_on_gpu.py hold it",
}
LEFT_OUT = (FILES_LEFT_OUT, FUNCTIONS_LEFT_OUT, ATTRIBUTES_LEFT_OUT, DECLARED_LEFT_OUT, CONSTANTS_LEFT_OUT)
LEFT_OUT += (NAMES_LEFT_OUT, CONDITIONS_LEFT_OUT)
# Keyword arguments that change where or how fast something is computed; ``kwargs`` are Keras' own, which
# tests/native/test_tensorflow.py holds.
KEYWORDS_LEFT_OUT = ("device", "fused", "strict", "copy", "ctx", "place", "name", "rngs", "kwargs", "reduce_range")
# Calls that only refuse; what they are given matters to no cell, since cells make no errors.
CHECKS = re.compile(r"_?(check|refuse)_\w+|features|floats|known_sizes|lengths|token_ids|attention_mask|refuse\w*")


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
    if isinstance(node, ast.BoolOp) and getattr(node.values[0], "id", "") in NAMES_LEFT_OUT:
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
    return any(_word(node) in CONDITIONS_LEFT_OUT for node in ast.walk(condition))


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
