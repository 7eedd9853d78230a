"""What an import brings in, in a fresh interpreter; and which way the arrows run."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRAMEWORKS = ("torch", "tensorflow", "keras", "paddle", "mxnet", "jax", "flax")


def imported_by(code):
    program = f"{code}\nimport sys; print(' '.join(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd="/", check=True)
    return set(done.stdout.split("\n")[-2].split())


def test_the_package_imports_no_framework_and_no_numpy():
    found = imported_by("import transformer_mb")
    assert "transformer_mb" in found
    assert not found & {*FRAMEWORKS, "numpy"}


def test_help_imports_no_framework_and_no_numpy():
    code = """
import sys
sys.argv = ["transformer-mb", "--help"]
from transformer_mb.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""
    assert not imported_by(code) & {*FRAMEWORKS, "numpy", "sacrebleu", "safetensors"}


NEUTRAL = sorted(path.relative_to(ROOT) for path in (ROOT / "transformer_mb").rglob("*.py"))
# Foreign code that is started as a process of its own; its functions import frameworks, its modules import none.
PORTING = Path("transformer_mb/porting")
FOREIGN = {PORTING / "formats/native_loaders", PORTING / "proof/reference_runs"}


def test_the_whole_neutral_half_imports_no_framework():
    modules = [".".join(path.with_suffix("").parts) for path in NEUTRAL if path.name != "__main__.py"]
    found = imported_by("\n".join(f"import {module.removesuffix('.__init__')}" for module in modules))
    assert "numpy" in found and not found & set(FRAMEWORKS)


def imports_of(path):
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            package = ".".join(path.with_suffix("").parts[: -node.level]) if node.level else ""
            yield f"{package}.{node.module}".strip(".") if node.module else package


@pytest.mark.parametrize("path", [path for path in NEUTRAL if path.parent not in FOREIGN], ids=str)
def test_nothing_neutral_names_a_backend(path):
    assert not [name for name in imports_of(path) if {"native_loaders", "reference_runs"} & set(name.split("."))]
    assert not [name for name in imports_of(path) if "backends" in name.split(".") or name.split(".")[0] in FRAMEWORKS]


HEIGHTS = {
    "transformer_mb.__init__": 4,  # the front door names what is above it, and imports it on first use
    "transformer_mb.cli": 3,
    "transformer_mb.training": 2,
    "transformer_mb.parity": 2,
    "transformer_mb.porting": 2,
    "transformer_mb.compare": 2,
}


@pytest.mark.parametrize("path", NEUTRAL, ids=str)
def test_arrows_run_one_way(path):
    """cli -> training, parity, porting, compare -> the rest."""
    own = HEIGHTS.get(".".join(path.with_suffix("").parts[:2]), 1)
    above = [name for name in imports_of(path) if HEIGHTS.get(".".join(name.split(".")[:2]), 0) > own]
    assert not above


# From the ground up: a room, or a module of the top floor, imports from those before it and from itself.
PARITY = (
    "settings",
    "computing",
    "cells",
    "ladder",
    "verdict",
    "rows",
    "controls",
    "bisection",
    "drawings",
    "plan",
    "workers",
    "matrix",
    "report",
)
PARITY_FILES = [path for path in NEUTRAL if path.parts[:2] == ("transformer_mb", "parity")]


@pytest.mark.parametrize("path", PARITY_FILES, ids=str)
def test_arrows_run_one_way_inside_parity(path):
    own = path.with_suffix("").parts[2]
    imported = {name.split(".")[2] for name in imports_of(path) if name.startswith("transformer_mb.parity.")}
    assert own == "__init__" or imported <= {*PARITY[: PARITY.index(own) + 1]}


BACKEND_FILES = sorted(path.relative_to(ROOT) for path in (ROOT / "backends").rglob("*.py"))


@pytest.mark.parametrize("path", BACKEND_FILES, ids=str)
def test_a_backend_imports_its_own_framework_only(path):
    own = {"tensorflow": {"tensorflow", "keras"}, "jax": {"jax", "flax"}}.get(path.parts[1], {path.parts[1]})
    named = {name.split(".")[0] for name in imports_of(path)} & set(FRAMEWORKS)
    assert named <= own
    assert not [name for name in imports_of(path) if name.startswith(("transformer_mb.training", "transformer_mb.cli"))]
