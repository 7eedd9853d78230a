"""What an import brings in, in a fresh interpreter; and which way the arrows run."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from transformer_mb.built_in import BUILT_IN

ROOT = Path(__file__).parents[2]
FRAMEWORKS = {package for entry in BUILT_IN.values() for package in entry.requires} - {"numpy"}


def imported_by(code):
    program = f"{code}\nimport sys; print(' '.join(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd="/", check=True)
    return set(done.stdout.split("\n")[-2].split())


@pytest.mark.parametrize("package", ["transformer_mb", "transformer_mb.check", "transformer_mb.compare"])
def test_the_package_imports_no_framework_and_no_numpy(package):
    found = imported_by(f"import {package}")
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


OURS = sorted(path.relative_to(ROOT) for path in (ROOT / "transformer_mb").rglob("*.py"))
# What each framework does by its own means; a worker that holds one framework imports its modules alone.
BUILT_INS = Path("transformer_mb/compare/builtins")
# How a subject of a check is built and called in each framework; its process holds that framework alone.
ADAPTERS = Path("transformer_mb/check/adapters")
ADAPTED = {"flax": "jax", "linen": "jax", "keras": "keras", "gluon": "mxnet"}  # else by the framework's own name
NOT_OF_A_FRAMEWORK = ("__init__", "adapter", "numpy")
ADAPTER_FILES = [path for path in OURS if path.parent == ADAPTERS and path.stem not in NOT_OF_A_FRAMEWORK]
NEUTRAL = [path for path in OURS if BUILT_INS not in path.parent.parents and path not in ADAPTER_FILES]
# Foreign code that is started as a process of its own; its functions import frameworks, its modules import none.
PORTING = Path("transformer_mb/porting")
FOREIGN = {PORTING / "formats/native_loaders", PORTING / "proof/reference_runs"}
# A test of what each framework saves by itself, which imports the one whose backend is tested in its process.
OF_FRAMEWORKS = Path("transformer_mb/conformance/test_native_names.py")


def test_the_whole_neutral_half_imports_no_framework():
    modules = [".".join(path.with_suffix("").parts) for path in NEUTRAL if path.name != "__main__.py"]
    found = imported_by("\n".join(f"import {module.removesuffix('.__init__')}" for module in modules))
    assert "numpy" in found and not found & {*FRAMEWORKS, "ray"}


def test_one_process_that_trains_imports_nothing_of_several():
    code = """
import sys
import transformer_mb as tmb
tmb.train([("go .", "va !")], backend="numpy", epochs=1, num_hiddens=4, ffn_num_hiddens=4, num_heads=1, num_layers=1)
several = ("distributed.star", "numpy.distributed", "training.launch", "parity.sweeping", "units.running")
assert not [name for name in sys.modules if name.endswith(several)]
"""
    assert not imported_by(code) & {*FRAMEWORKS, "ray", "execnet"}


def test_ray_is_named_by_its_engine_alone():
    users = [path for path in NEUTRAL if "ray" in {name.split(".")[0] for name in imports_of(path)}]
    assert users == [Path("transformer_mb/units/on_ray.py")]


def imports_of(path):
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            package = ".".join(path.with_suffix("").parts[: -node.level]) if node.level else ""
            yield f"{package}.{node.module}".strip(".") if node.module else package


@pytest.mark.parametrize("path", [path for path in NEUTRAL if path.parent not in FOREIGN and path != OF_FRAMEWORKS], ids=str)
def test_nothing_neutral_names_a_backend(path):
    assert not [name for name in imports_of(path) if {"native_loaders", "reference_runs"} & set(name.split("."))]
    assert not [name for name in imports_of(path) if "backends" in name.split(".") or name.split(".")[0] in FRAMEWORKS]


HEIGHTS = {
    "transformer_mb.__init__": 5,  # the front door names what is above it, and imports it on first use
    "transformer_mb.__main__": 5,
    "transformer_mb.conformance": 5,  # tests, the command line's too
    "transformer_mb.cli": 4,
    "transformer_mb.pytest_plugin": 4,
    "transformer_mb.judge": 4,
    "transformer_mb.check": 3,  # its limits are the matrix's
    "transformer_mb.compare": 2,
    "transformer_mb.training": 2,
    "transformer_mb.parity": 2,
    "transformer_mb.porting": 2,
}


@pytest.mark.parametrize("path", NEUTRAL, ids=str)
def test_arrows_run_one_way(path):
    """__main__ -> cli -> check -> compare, training, parity, porting -> the rest."""
    own = HEIGHTS.get(".".join(path.with_suffix("").parts[:2]), 1)
    above = [name for name in imports_of(path) if HEIGHTS.get(".".join(name.split(".")[:2]), 0) > own]
    assert not above


MODULES = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in NEUTRAL}
PACKAGES = sorted(name for name, path in MODULES.items() if path.name == "__init__.py")


def arrows_of(path):
    """The modules that a module imports, inside its functions and for type checkers too."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        if isinstance(node, ast.ImportFrom):
            package = path.with_suffix("").parts[: -node.level] if node.level else ()
            origin = ".".join((*package, *([node.module] if node.module else [])))
            named = (f"{origin}.{alias.name}" for alias in node.names)
            yield from (name if name in MODULES else origin for name in named if origin in MODULES)


ARROWS = {name: set(arrows_of(path)) - {name} for name, path in MODULES.items()}


def cycle(arrows):
    """The names of one cycle, the first of them once more at its end; empty where there is none."""
    finished, way = set(), []

    def visit(name):
        if name in way:
            return [*way[way.index(name) :], name]
        if name in finished:
            return []
        way.append(name)
        circle = next((circle for other in sorted(arrows.get(name, ())) if (circle := visit(other))), [])
        way.pop()
        finished.add(name)
        return circle

    return next((circle for name in sorted(arrows) if (circle := visit(name))), [])


def rooms(package):
    """The arrows between what lies directly in a package, each folder taken as one: a cycle of folders is an arrow up."""
    depth = package.count(".") + 2
    inside = {name: ".".join(name.split(".")[:depth]) for name in MODULES if name.startswith(f"{package}.")}
    between = {}
    for name, room in inside.items():
        between.setdefault(room, set()).update({inside[other] for other in ARROWS[name] if other in inside} - {room})
    return between


def test_no_module_imports_itself_by_way_of_others():
    assert len(ARROWS) > 150 and sum(map(len, ARROWS.values())) > 500
    assert not cycle(ARROWS), " -> ".join(cycle(ARROWS))


@pytest.mark.parametrize("package", PACKAGES)
def test_no_arrow_runs_up_between_the_rooms_of_a_package(package):
    assert not cycle(rooms(package)), " -> ".join(cycle(rooms(package)))


def test_a_cycle_is_found():
    assert cycle({"a": {"b", "c"}, "b": set(), "c": {"d"}, "d": {"b", "c"}}) == ["c", "d", "c"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": {"d"}}) == []


FRAMEWORK_FILES = sorted(path.relative_to(ROOT) for path in (ROOT / "backends").rglob("*.py"))
FRAMEWORK_FILES += [path for path in OURS if BUILT_INS in path.parent.parents]
KERAS_COMPUTES_BY = ("keras", "tensorflow", "jax", "torch")


@pytest.mark.parametrize("path", FRAMEWORK_FILES, ids=str)
def test_a_frameworks_file_imports_that_framework_only(path):
    name = path.parts[1] if path.parts[0] == "backends" else path.parts[3]
    assert {name.split(".")[0] for name in imports_of(path)} & FRAMEWORKS <= set(
        BUILT_IN[name].requires if name in BUILT_IN else ()
    )
    assert not [name for name in imports_of(path) if name.startswith(("transformer_mb.training", "transformer_mb.cli"))]


@pytest.mark.parametrize("path", ADAPTER_FILES, ids=str)
def test_an_adapter_imports_its_framework_only(path):
    name = ADAPTED.get(path.stem, path.stem)
    requires = {**{name: entry.requires for name, entry in BUILT_IN.items()}, "keras": KERAS_COMPUTES_BY, "onnx": ()}
    assert {name.split(".")[0] for name in imports_of(path)} & FRAMEWORKS <= set(requires[name])
