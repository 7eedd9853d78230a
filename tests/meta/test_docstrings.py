"""First sentences of docstrings: each stands alone, beginning with a verb or a noun phrase, and ends with a full stop."""

import ast

import pytest
from meta.backend_sources import ROOT

FRAGMENTS = """
    what those of whether how where which whose that when so if its their they who whoever why by at on in to for from with
    without within around between over about as it one ones each until not no none nothing nobody somebody something anything
    everything whatever also such same like likewise before after afterwards and or but here there then than these only some
    more most many empty raised raises
"""
FOLDERS = ("transformer_mb", "backends", "tools", "benchmarks", "examples", "docs")
SUITE = ROOT / "transformer_mb" / "conformance"  # tests, whose docstrings say where a value is from
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if path.parent != SUITE)


def faults(source):
    """Return the line and the beginning of each docstring that does not stand alone."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    texts = [(getattr(node, "lineno", 1), text) for node in nodes if (text := ast.get_docstring(node))]
    return [(line, text[:60]) for line, text in texts if begins_amid(text) or not ends(text.split("\n\n")[0])]


def begins_amid(text):
    return text.split()[0].strip(".,:;").lower() in FRAGMENTS.split()


def ends(paragraph):
    return paragraph.rstrip("\"')").endswith((".", ":"))


def test_docstrings_stand_alone():
    assert not {str(path.relative_to(ROOT)): wrong for path in FILES if (wrong := faults(path.read_text()))}


@pytest.mark.parametrize("text", ["Of a table.", "Whether it ends.", "Return the table", "Those: all of them."])
def test_a_fragment_is_a_fault(text):
    assert faults(f'def f():\n    """{text}"""\n') == [(1, text)] and not faults('def f():\n    """Return a table."""\n')
