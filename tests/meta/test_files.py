"""Small rooms: no source file is longer than 300 lines."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 300
FOLDERS = ("transformer_mb", "backends", "tests", "examples", "benchmarks", "docs")


def test_no_file_is_too_long():
    sources = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    assert len(sources) > 300
    assert not {str(path): lines for path in sources if (lines := len(path.read_text().splitlines())) > LONGEST}
