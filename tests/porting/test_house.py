"""The house of ``porting``: storeys import from those below them, no row is asked for by its name, pages have the tables."""

import ast
import importlib
from pathlib import Path

import pytest

from transformer_mb.porting.exports import EXPORTS
from transformer_mb.porting.families import FAMILIES
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.formats.native_loaders import LOADERS
from transformer_mb.porting.kinds import never
from transformer_mb.porting.tables import formats_part, settings_part

ROOT = Path(__file__).parents[2]
PORTING = ROOT / "transformer_mb" / "porting"
# Lowest first. Of the modules beside the folders: what readers and writers share, and at the top the two commands.
FLOORS = (
    {"safety"},
    {"model", "settings", "worker"},
    {"kinds"},
    {"formats"},
    {"families"},
    {"exports"},
    {"files"},
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


def test_the_pages_have_the_tables_that_the_code_makes():
    page = (ROOT / "docs" / "PORTING.md").read_text()
    for part in (formats_part(), settings_part()):
        assert part in page, "put the output of `python -m transformer_mb.porting.tables` into docs/PORTING.md"


@pytest.mark.parametrize("rows", [FORMATS, FAMILIES, EXPORTS])
def test_every_row_is_at_the_end_of_its_module(rows):
    kind = {"formats": FORMATS, "families": FAMILIES, "exports": EXPORTS}
    folder = next(name for name, table in kind.items() if table is rows)
    for name, row in rows.items():
        assert importlib.import_module(f"transformer_mb.porting.{folder}.{name}").ROW is row and row.name == name
    assert {row.read is never for row in rows.values()} == {rows is EXPORTS}
    assert not any(row.read_back is never for row in EXPORTS.values())


def test_what_a_framework_loads_has_its_own_reader():
    assert set(LOADERS) == {name for name, row in FORMATS.items() if row.write and row.backend}


NAMES = {*FORMATS, *FAMILIES, *EXPORTS}


def named(node):
    """The names of rows in one side of a comparison."""
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and one.value in NAMES}


@pytest.mark.parametrize("path", sorted(PORTING.rglob("*.py")), ids=lambda path: str(path.relative_to(PORTING)))
def test_no_row_is_asked_for_by_its_name(path):
    """What depends on a family or a container is an attribute of its row, so that another one is a file and a line."""
    compared = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Compare)]
    assert not [node.lineno for node in compared if named(node) - {path.stem} or "DEFAULT" in ast.unparse(node)]
