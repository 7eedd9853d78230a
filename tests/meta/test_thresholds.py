"""Every size from which a backend takes another way is a setting of the matrix: toys take the ways of large models too."""

import ast

import pytest
from meta.backend_sources import BACKENDS

from transformer_mb.built_in import BUILT_IN
from transformer_mb.parity.computing.thresholds import THRESHOLDS

# Numbers that choose no way of computing.
NO_THRESHOLDS = {
    ("numpy", "activations.ONE"): "erf is 1 from there on",
    ("numpy", "int8.LARGEST"): "of the format",
    ("torch", "shortcuts.int8.LARGEST"): "of the format",
    ("torch", "shortcuts.threads.LARGE"): "how many threads compute, which is the user's in the matrix",
    ("mxnet", "shortcuts.threads.LARGE"): "likewise",
    ("paddle", "shortcuts.threads.LARGE"): "likewise",
    ("mxnet", "optimizers.PIECE"): "the sum is one, and a large update adds several pieces",
    ("mxnet", "shim._EVERY_THREAD"): "MXNet's own name of a mode",
}


def is_number(value):
    """Written as one, as a product of some, or as a range of them."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "range"
    allowed = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    constants = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
    numbers = bool(constants) and all(type(one) in (int, float) for one in constants)
    return numbers and all(isinstance(node, allowed) for node in ast.walk(value))


def constants(source):
    """Names of a module's numbers."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        elif isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        else:
            continue
        yield from (one.id for one in targets if isinstance(one, ast.Name) and one.id.isupper() and is_number(value))


def imported(module, source):
    """Constants that a module has from others of its backend, as ``MODULE.NAME``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            package = ["", *module.split(".")][: -node.level]
            yield from (".".join([*package[1:], node.module, one.name]) for one in node.names)


def places(name):
    """Where a backend reads a number: in its own module, or in one that has imported it."""
    paths = {path.relative_to(BACKENDS / name).with_suffix(""): path for path in sorted((BACKENDS / name).rglob("*.py"))}
    sources = {".".join(module.parts): path.read_text() for module, path in paths.items()}
    own = {f"{module}.{constant}" for module, source in sources.items() for constant in constants(source)}
    borrowed = {
        f"{module}.{constant.rpartition('.')[2]}" for module, source in sources.items()
        for constant in imported(module, source) if constant in own
    }  # fmt: skip
    return own | borrowed


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_number_of_a_backend_is_a_setting_or_no_threshold(name):
    known = {*THRESHOLDS[name], *(place for backend, place in NO_THRESHOLDS if backend == name)}
    assert places(name) == known, "name it in parity/computing/thresholds.py, or above with the reason why it is none"


@pytest.mark.parametrize(
    ("source", "found"),
    [("CHUNK = 2**18", True), ("_MOST: int = 1 << 4", True), ("TURNED = range(2, 5)", True), ("FEW = -3.0", True),
     ("NAMES = ('a',)", False), ("few = 3", False), ("WORD = 'a' * 3", False)],
)  # fmt: skip
def test_what_counts_as_a_number(source, found):
    assert bool(list(constants(source))) == found
