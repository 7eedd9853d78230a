"""The budget of lines: per file and per room. What grows says so in ROOMS, and what shrinks lowers it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_FILE, LONGEST_LINE = 300, 128
SHORT = 20  # lines; a file of fewer is mostly a heading

# By room: lines and files of Python at most. A room stands for its folders that are not listed themselves.
ROOMS = {
    "transformer_mb": (4_369, 39),
    "transformer_mb/check": (6_785, 51),
    "transformer_mb/checkpoint": (901, 7),
    "transformer_mb/cli": (3_564, 42),
    "transformer_mb/compare": (8_401, 84),
    "transformer_mb/corpora": (369, 5),
    "transformer_mb/data": (3_238, 21),
    "transformer_mb/decoding": (1_463, 14),
    "transformer_mb/distributed": (848, 8),
    "transformer_mb/figures": (552, 8),
    "transformer_mb/files": (1_129, 13),
    "transformer_mb/inference": (1_208, 11),
    "transformer_mb/interface": (490, 3),
    "transformer_mb/judge": (1_120, 7),
    "transformer_mb/machine": (234, 7),
    "transformer_mb/parity": (10_138, 71),
    "transformer_mb/porting": (11_678, 106),
    "transformer_mb/columns": (743, 10),
    "transformer_mb/conformance": (4_098, 39),
    "transformer_mb/pytest_plugin": (290, 4),
    "transformer_mb/skeleton": (307, 3),
    "examples/mlx_backend": (1_429, 18),
    "examples/autograd_backend": (1_443, 18),
    "transformer_mb/reports": (763, 12),
    "transformer_mb/units": (421, 5),
    "transformer_mb/training": (3_626, 27),
    "backends": (1, 1),
    "backends/jax": (2_781, 25),
    "backends/mxnet": (2_326, 25),
    "backends/numpy": (2_888, 28),
    "backends/paddle": (2_127, 24),
    "backends/tensorflow": (2_627, 22),
    "backends/torch": (2_857, 31),
    "tests": (753, 9),
    "tests/check": (3_800, 56),
    "tests/cli": (3_096, 20),
    "tests/compare": (2_286, 22),
    "tests/core": (7_960, 45),
    "tests/distributed": (1_866, 24),
    "tests/errata": (180, 3),
    "tests/reader": (238, 3),
    "tests/examples": (625, 9),
    "tests/judge": (567, 4),
    "tests/meta": (1_842, 26),
    "tests/native": (5_549, 40),
    "tests/parity": (5_831, 65),
    "tests/porting": (11_327, 82),
    "tests/pytest_plugin": (194, 2),
    "tests/reference": (698, 5),
    "tests/reports": (600, 5),
    "tests/site": (746, 9),
    "tests/tools": (552, 5),
    "tools": (2_944, 23),
    "benchmarks": (3_799, 45),
    "examples": (947, 11),
    "docs": (778, 11),
    "docs/site": (1_546, 19),
}
PACKAGE = ("transformer_mb", "backends")
SUITE = "transformer_mb/conformance"
SHORT_FILES = 55  # of the package, at most


def room_of(path):
    """The longest listed folder that holds it."""
    names = [str(folder) for folder in path.relative_to(ROOT).parents]
    return next((name for name in names if name in ROOMS), None)


TOPS = sorted({name.partition("/")[0] for name in ROOMS})
SOURCES = {path: path.read_text().splitlines() for top in TOPS for path in sorted((ROOT / top).rglob("*.py"))}


def test_every_file_has_a_room():
    assert len(SOURCES) > 900 and not [str(path) for path in SOURCES if room_of(path) is None]


def test_no_file_is_too_long():
    assert not {str(path): len(lines) for path, lines in SOURCES.items() if len(lines) > LONGEST_FILE}


def test_no_line_of_the_package_is_too_long():
    """The rule of ruff's that some tests leave out: of the package the conformance suite alone, with its tables of cases."""
    ours = {path: lines for path, lines in SOURCES.items() if room_of(path).split("/")[0] in PACKAGE and room_of(path) != SUITE}
    assert not [f"{path}:{n}" for path, lines in ours.items() for n, line in enumerate(lines, 1) if len(line) > LONGEST_LINE]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_no_larger_than_its_budget(room):
    """Its table says what it has: who removes lines lowers the figure, so that it cannot grow again unseen."""
    inside = [lines for path, lines in SOURCES.items() if room_of(path) == room]
    found, (most_lines, most_files) = (sum(map(len, inside)), len(inside)), ROOMS[room]
    assert found[0] <= most_lines and found[1] <= most_files, found
    assert found[0] > 0.97 * most_lines - 50, f"the budget of {room} must be lowered to {found}"


def test_few_files_hold_next_to_nothing():
    short = [str(path) for path, lines in SOURCES.items() if path.relative_to(ROOT).parts[0] in PACKAGE and len(lines) < SHORT]
    assert len(short) <= SHORT_FILES, len(short)
