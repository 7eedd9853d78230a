"""What the README's first screen says, and that its programs run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site.twins import NAMES
from transformer_mb.built_in import BUILT_IN

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FIRST_SCREEN = "\n".join(README.splitlines()[:60])
PROGRAMS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_first_screen_names_the_framework(name):
    assert NAMES[name] in FIRST_SCREEN, f"name the backend {name} in the README's first 60 lines and in docs/site/twins.py"


def test_a_stranger_reads_it_at_one_sitting():
    assert len(README.splitlines()) <= 170


def test_the_first_screen_installs_shows_both_programs_and_a_picture():
    assert "pip install" in FIRST_SCREEN and FIRST_SCREEN.count("```python") == 2 and FIRST_SCREEN.count("```") == 6
    (picture,) = re.findall(r"!\[.+?\]\((.+?)\)", FIRST_SCREEN)
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_of_the_readme_runs(number, tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAMS[number]], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not any(line.startswith(" ") for line in done.stdout.splitlines()), "a translation is empty"
