"""Every entry of docs/ERRATA.md against what its command prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "ERRATA.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^### (\d+)\. .+?(?=^### |^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```\n\$ python -m docs\.errata (\S+)\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
ENTRIES = {int(found[1]): found[0] for found in ENTRY.finditer(TEXT)}
CLAIMED = dict(BLOCK.findall(TEXT))


def run(*names):
    command = [sys.executable, "-m", "docs.errata", *names]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


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
def test_the_figures_are_what_the_command_prints(name, measured):
    assert measured[name] == CLAIMED[name]


def test_one_by_name_and_an_unknown_name():
    done = run("nine-ids-for-eight-characters")
    assert done.stdout.splitlines()[1:] == CLAIMED["nine-ids-for-eight-characters"].splitlines()
    wrong = run("nonesuch")
    assert wrong.returncode == 1 and "got nonesuch" in wrong.stderr and "Traceback" not in wrong.stderr
