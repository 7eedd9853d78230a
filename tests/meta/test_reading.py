"""Files that somebody else has named are opened in one place alone, which knows that they may be no files at all."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent.parent / "transformer_mb"
# Files of our own, which nobody else has named.
OURS = {
    "porting/exports/ctranslate2_variables.py": "what the export has just written",
}
FOREIGN = ("native_loaders", "reference_runs")  # foreign code in a process of its own
INSIDE = ("archive",)  # members of a zip file that is open


def reads(code):
    """The calls of ``code`` that open a path in order to read it."""
    found = []
    for call in ast.walk(ast.parse(code)):
        if not isinstance(call, ast.Call):
            continue
        name, owner = getattr(call.func, "attr", None), getattr(getattr(call.func, "value", None), "id", None)
        opens = getattr(call.func, "id", None) == "open" or (
            name in ("open", "read_text", "read_bytes") and owner not in INSIDE
        )
        modes = [one.value for one in (*call.args, *(word.value for word in call.keywords)) if isinstance(one, ast.Constant)]
        if opens and not {"w", "wb", "a", "x"} & set(modes):
            found.append(ast.unparse(call))
    return found


def scanned():
    """The readers of checkpoints and of foreign files. A runner gets its path from a reader that has checked it."""
    porting = [path for path in sorted(PACKAGE.glob("porting/**/*.py")) if path.parent.name not in FOREIGN]
    return [*porting, *sorted(PACKAGE.glob("checkpoint/*.py")), PACKAGE / "files" / "tensors.py"]


def test_nothing_else_opens_a_file_to_read_it():
    paths = {str(path.relative_to(PACKAGE)): path for path in scanned()}
    assert len(paths) > 40
    assert not {name: found for name, path in paths.items() if name not in OURS and (found := reads(path.read_text()))}


@pytest.mark.parametrize("name", OURS)
def test_each_exception_is_still_one(name):
    assert reads((PACKAGE / name).read_text())


def test_the_search_finds_what_it_looks_for():
    for code in (
        'path.open("rb")',
        'path.read_text(encoding="utf-8")',
        "open(name)",
        "Path(x).read_bytes()",
        "os.open(path, 0)",
    ):
        assert reads(code)
    for code in ('path.open("wb")', "archive.open(member)", "open_regular(path)", 'open(name, "w")', "read_bytes(path)"):
        assert not reads(code)
