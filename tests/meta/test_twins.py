"""Every backend has the same files with the same public names and signatures, compared by parsing."""

import ast
from pathlib import Path

import pytest

from transformer_mb.registry import BUILT_IN

BACKENDS = Path(__file__).parents[2] / "backends"
MODEL = "torch"  # the twin that the others are compared with
PREFIX = {"numpy": "NumPy", "torch": "Torch", "tensorflow": "TensorFlow", "paddle": "Paddle", "mxnet": "MXNet", "jax": "JAX"}

# Files that one backend needs and no other has, with the reason.
EXTRA_FILES = {
    ("numpy", "framework.py"): "parameters, modules and linear layers, which the others' frameworks bring",
    ("numpy", "activations.py"): "activations with their derivatives, and an erf, which the others' frameworks bring",
    ("numpy", "rounding.py"): "what lower precision loses, measured on NumPy, which has none itself",
    ("jax", "compiled.py"): "functions compiled once for all modules built alike, which jax.jit cannot see by itself",
    ("mxnet", "shim.py"): "what MXNet 1.9.1 needs before it can be imported at all",
}

CALLS = {"call": "forward", "__call__": "forward"}
# What a framework requires of a signature and the others do not have.
REQUIRED = {"rngs", "name", "dtype", "param_dtype", "device", "training", "kwargs"}
# Public methods by which a framework, or NumPy in its place, reaches into a layer.
FRAMEWORK_METHODS = {"backward", "build", "compute_output_shape", "compute_output_spec", "get_config"}


def files(name):
    return {path.name for path in (BACKENDS / name).glob("*.py") if (name, path.name) not in EXTRA_FILES}


def signature(function):
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [ast.unparse(d) for d in arguments.defaults]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    named = {a.arg: d and ast.unparse(d) for a, d in keywords if a.arg not in REQUIRED}
    return [(a.arg, d) for a, d in zip(positional, defaults, strict=True) if a.arg not in {"self", *REQUIRED}], named


def public(path, prefix):
    """{qualified name: signature} of everything public that a file defines; classes have no signature."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found[node.name] = signature(node)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            name = node.name.replace(prefix, "Native")
            found[name] = None
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name not in FRAMEWORK_METHODS:
                    called = CALLS.get(method.name, method.name)
                    if called in ("__init__", "forward") or not called.startswith("_"):
                        found[f"{name}.{called}"] = signature(method)
    return found


others = [name for name in BUILT_IN if name != MODEL]


def test_every_backend_is_known_here():
    assert set(BUILT_IN) <= set(PREFIX) and MODEL in BUILT_IN
    assert all((BACKENDS / name / file).is_file() for name, file in EXTRA_FILES if name in BUILT_IN)


@pytest.mark.parametrize("name", others)
def test_files(name):
    assert files(name) == files(MODEL) and len(files(MODEL)) >= 15


@pytest.mark.parametrize("file", sorted(files(MODEL) - {"__init__.py", "weights.py"}))
@pytest.mark.parametrize("name", others)
def test_public_names_and_signatures(name, file):
    expected = public(BACKENDS / MODEL / file, PREFIX[MODEL])
    got = public(BACKENDS / name / file, PREFIX[name])
    assert expected and got
    missing, extra = set(expected) - set(got), {key for key in set(got) - set(expected) if "." not in key}
    assert not missing and not extra
    different = {key: (got[key], expected[key]) for key in expected if got[key] != expected[key]}
    assert not different


def test_a_difference_is_seen(tmp_path):
    original = (BACKENDS / MODEL / "attention.py").read_text()
    changed = tmp_path / "attention.py"
    changed.write_text(original.replace("use_bias: bool = False", "use_bias: bool = True", 1))
    before, after = public(BACKENDS / MODEL / "attention.py", "Torch"), public(changed, "Torch")
    assert before["MultiHeadAttention.__init__"] != after["MultiHeadAttention.__init__"]
