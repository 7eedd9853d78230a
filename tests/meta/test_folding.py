"""Errors are folded by what carries NaN on: Python's ``max(0.0, nan)`` is 0.0, and a ``min`` loses it likewise."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JUDGES = sorted(
    path
    for pattern in (
        "transformer_mb/parity/**/*.py",
        "transformer_mb/porting/proof/proving.py",
        "transformer_mb/porting/proof/agreement.py",
        "tests/parity/test_*.py",
        "transformer_mb/conformance/test_*.py",
        "tests/distributed/*.py",
    )
    for path in ROOT.glob(pattern)
)
# Elsewhere a max may be of lengths; one of errors is told by its words.
OTHERS = sorted(
    {path for folder in ("transformer_mb", "tests", "examples") for path in ROOT.glob(f"{folder}/**/*.py")} - {*JUDGES}
)
WORDS = ("error", "abs(", "norm(", "difference", "divergence", "worst")
# Counts, lengths, a format's own digits and the choice of a hypothesis by its score, none of which an error can be.
ALLOWED = {
    "tests/parity/test_drawn_tokens.py": 1,
    "transformer_mb/parity/report.py": 1,
    "transformer_mb/conformance/test_decoding.py": 1,
    "tests/distributed/mistakes.py": 3,
    "transformer_mb/parity/computing/plain.py": 4,
    "transformer_mb/parity/verdict/independence.py": 2,
    "transformer_mb/parity/rows/drawn_tokens.py": 3,
    "transformer_mb/parity/rows/given_numbers.py": 1,
}


def folds(source, words=("",)):
    """Lines where a built-in max or min is called, of what holds one of the words."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    found = [call for call in calls if call.func.id in ("max", "min")]
    return [call.lineno for call in found if any(word in ast.unparse(call) for word in words)]


@pytest.mark.parametrize("path", JUDGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_error_is_folded_by_a_bare_max_or_min(path):
    name = str(path.relative_to(ROOT))
    found = folds(path.read_text())
    assert len(found) == ALLOWED.get(name, 0), f"{name}, lines {found}: use parity.verdict.measure.worst, which carries NaN on"


def test_no_error_is_folded_by_a_bare_max_or_min_elsewhere():
    found = {str(path.relative_to(ROOT)): folds(path.read_text(), WORDS) for path in OTHERS}
    assert len(found) > 200 and {name: lines for name, lines in found.items() if lines} == {}


def test_a_bare_max_is_noticed():
    assert folds("assert max(errors.values()) <= 1e-5", WORDS) == [1] and folds("max(map(len, rows))", WORDS) == []
    assert folds("x = max(errors.values(), default=0.0)") == [1] and folds("x = np.max(errors)") == []
