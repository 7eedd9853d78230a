"""The storeys of ``porting``: each imports from those below it, none from above."""

import ast
from pathlib import Path

import pytest

PORTING = Path(__file__).parents[2] / "transformer_mb" / "porting"
# Lowest first. Of the modules beside the folders: what readers and writers share, and at the top the two commands.
FLOORS = (
    {"safety"},
    {"model", "settings", "worker"},
    {"odd_numbers"},
    {"formats"},
    {"families"},
    {"exports"},
    {"files"},
    {"loading_stacks"},
    {"loading"},
    {"origins"},
    {"proof"},
    {"report", "inspection"},
    {"port", "tables"},
)
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}


def storey(path):
    return path.relative_to(PORTING).with_suffix("").parts[0]


def imported(path):
    """What of ``porting`` a module imports, functions included."""
    package = path.relative_to(PORTING.parent).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            for alias in node.names:
                full = [part for part in (*base, alias.name) if part]
                if full[0] == "porting" and len(full) > 1:
                    yield full[1]


@pytest.mark.parametrize("path", sorted(PORTING.rglob("*.py")), ids=lambda path: str(path.relative_to(PORTING)))
def test_no_arrow_points_up(path):
    if path == PORTING / "__init__.py":
        assert not list(imported(path))
        return
    own = FLOOR[storey(path)]
    above = {name for name in imported(path) if FLOOR[name] > own or (FLOOR[name] == own and name != storey(path))}
    assert not above - ({"model", "settings", "worker"} if own == 1 else set())


def test_the_arrows_are_seen():
    assert {"formats", "model", "safety"} <= set(imported(PORTING / "families" / "hugging_face.py"))
    assert "worker" in set(imported(PORTING / "proof" / "running.py"))
