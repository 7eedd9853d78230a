"""What a source file offers: its public names with their signatures, by parsing, since no two frameworks share a process."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
BACKENDS = ROOT / "backends"

CALLS = {"call": "__call__", "forward": "__call__"}
# What a framework requires of a signature and the others do not have.
REQUIRED = {"rngs", "name", "dtype", "param_dtype", "device", "training", "trainable", "kwargs"}
PROPERTY = "property"
# Keras wants those of tensors spelled out.
ATTENTION_OPTIONS = {"mask": "None", "causal": "False", "need_weights": "False", "bias": "None"}
# Public methods by which a framework, or NumPy in its place, reaches into a layer.
FRAMEWORK_METHODS = {
    "backward",
    "join",
    "build",
    "compute_mask",
    "compute_output_shape",
    "compute_output_spec",
    "export",
    "extra_repr",
    "get_config",
}


def signature(function):
    """([positional with default], {keyword-only: default}, what ** takes): names and defaults, no other annotations."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [ast.unparse(d) for d in arguments.defaults]
    pairs = zip(positional, defaults, strict=True)
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    named = {a.arg: d and ast.unparse(d) for a, d in keywords if a.arg not in REQUIRED}
    options = arguments.kwarg
    taken = ast.unparse(options.annotation) if options and options.arg not in REQUIRED else None
    if taken == "Unpack[AttentionOptions]":
        named, taken = {**named, **ATTENTION_OPTIONS}, None
    return [(a.arg, d) for a, d in pairs if a.arg not in {"self", "cls", *REQUIRED}], named, taken


def public(source, prefix="Native"):
    """{qualified name: signature} of everything public that a file defines; a class itself has none."""
    offered = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            offered[node.name] = signature(node)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            name = node.name.replace(prefix, "Native")
            offered[name] = None
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name not in FRAMEWORK_METHODS:
                    called = CALLS.get(method.name, method.name)
                    if called in ("__init__", "__call__") or not called.startswith("_"):
                        is_property = "property" in map(ast.unparse, method.decorator_list)
                        offered[f"{name}.{called}"] = PROPERTY if is_property else signature(method)
    return offered


def differences(offered, expected):
    """Sentences that name each class, method or argument which is missing, unexpected or another."""
    # What needs a property in one framework is a plain attribute in another.
    names = [f"{name} is missing" for name in sorted(expected.keys() - offered.keys()) if expected[name] != PROPERTY]
    names += [f"{name} is not expected" for name in sorted(offered.keys() - expected.keys()) if offered[name] != PROPERTY]
    for name in sorted(expected.keys() & offered.keys()):
        if offered[name] != expected[name]:
            names.append(f"{name} must take {expected[name]}, got {offered[name]}")
    return names
