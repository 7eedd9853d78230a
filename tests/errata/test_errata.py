"""Every entry of docs/ERRATA.md against what its command prints."""

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.errata.figure import Figure, show

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "ERRATA.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^### (\d+)\. .+?(?=^### |^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```\n\$ python -m docs\.errata (\S+)\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
ENTRIES = {int(found[1]): found[0] for found in ENTRY.finditer(TEXT)}
CLAIMED = dict(BLOCK.findall(TEXT))
FIGURE = re.compile(r"^(.+: )([-+.\w]+)(.* \(claimed: (at least|at most) ([-+.\w]+)%?\))$", re.MULTILINE)


def run(*names):
    command = [sys.executable, "-m", "docs.errata", *names]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def measured():
    """What each demonstration prints, all from one process."""
    done = run()
    assert done.returncode == 0, done.stderr[-2000:]
    parts = re.split(r"^\[(\S+)\]\n", done.stdout, flags=re.MULTILINE)[1:]
    return {name: body.rstrip("\n") for name, body in zip(parts[::2], parts[1::2], strict=True)}


def test_there_are_enough_and_each_is_complete():
    assert list(ENTRIES) == list(range(1, len(ENTRIES) + 1)) and len(ENTRIES) >= 15
    for text in ENTRIES.values():
        assert all(f"- **{part}**" in text for part in ("Line", "How it shows", "What we do")), text
        assert len(BLOCK.findall(text)) == 1, text


def test_every_demonstration_is_an_entry(measured):
    assert set(measured) == set(CLAIMED) and len(CLAIMED) == len(ENTRIES)


@pytest.mark.parametrize("name", CLAIMED)
def test_the_command_prints_what_the_page_shows(name, measured):
    """Words, counts and exact arithmetic alike. Of a figure that another processor rounds otherwise the page shows one
    measurement: what is compared is its claim, to which the command holds what it measures."""
    assert FIGURE.sub(r"\1\3", measured[name]) == FIGURE.sub(r"\1\3", CLAIMED[name])
    for _, shown, _, side, bound in FIGURE.findall(CLAIMED[name]):
        assert float(shown) >= float(bound) if side == "at least" else float(shown) <= float(bound)


def test_the_page_claims_something_of_every_figure_that_is_trained():
    assert all(len(FIGURE.findall(CLAIMED[name])) >= 1 for name in ("position-zero", "greedy-without-end"))
    assert sum(len(FIGURE.findall(text)) for text in CLAIMED.values()) >= 15


def test_a_claim_that_does_not_hold_is_named():
    assert show({"loss": Figure(0.25, at_most=0.25), "share": Figure(1.0, "{:.0%} right", at_least=0.9), "words": "any"}) == []
    for value in (0.05, math.nan):
        (missed,) = show({"share": Figure(value, "{:.0%} right", at_least=0.9)})
        assert missed.startswith("share: ") and missed.endswith("% right (claimed: at least 90%)")


def test_the_command_fails_where_a_claim_does_not_hold():
    program = (
        "import sys; from docs.errata import __main__ as command, figure\n"
        "command.DEMONSTRATIONS['one'] = lambda: {'share': figure.Figure(0.5, '{:.0%} right', at_least=0.9)}\n"
        "sys.exit(command.main(['one']))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    line = "share: 50% right (claimed: at least 90%)"
    assert (done.returncode, done.stdout) == (1, f"[one]\n{line}\n")
    assert done.stderr == f"This claim does not hold here: one: {line}\n"


def test_one_by_name_and_an_unknown_name():
    done = run("nine-ids-for-eight-characters")
    assert done.stdout.splitlines()[1:] == CLAIMED["nine-ids-for-eight-characters"].splitlines()
    wrong = run("nonesuch")
    assert wrong.returncode == 1 and "got nonesuch" in wrong.stderr and "Traceback" not in wrong.stderr
