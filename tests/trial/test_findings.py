"""What a new user tried, and what it must do: every finding of the trial has a test that begins with its name."""

import re
from pathlib import Path

import pytest

# Wrong results and traps, crashes, messages, missing, friction: of two trials, whose numbers go on. X10 stays as it is: a first
# start and a resume are two commands.
FINDINGS = [
    *(f"W{number}" for number in range(1, 30)),
    "W6b",
    *(f"C{number}" for number in range(1, 11)),
    *(f"M{number}" for number in range(1, 24)),
    *(f"X{number}" for number in range(1, 10)),
    *(f"F{number}" for number in range(1, 11)),
]
TESTED = {
    name
    for path in Path(__file__).parents[1].rglob("test_*.py")
    for name in re.findall(r"def test_([WCMXF]\d+b?)_", path.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("finding", FINDINGS)
def test_every_finding_has_its_test(finding):
    assert finding in TESTED
