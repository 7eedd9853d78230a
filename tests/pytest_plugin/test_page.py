"""The tests that docs/PYTEST.md shows, with the port of docs/AGENTS.md and the options of its table; README's three lines."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE, AGENTS, README = ((ROOT / path).read_text() for path in ("docs/PYTEST.md", "docs/AGENTS.md", "README.md"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
OPTIONS = re.findall(r"^\| `(--[a-z-]+)", PAGE, re.MULTILINE)
LOCK = "lock.json"
WORDS = {"--parity-report": "report", "--parity-lock": LOCK, "--parity-seed": "7", "--parity-cases": "transformer_mb"}


@pytest.fixture
def project(tmp_path):
    """A folder with the page's tests, the port that they take their sides from, and its two blocks."""
    for name, text in re.findall(
        r"`((?:block_\w+|PORT)\.py)`(?:[^`]|`(?!\w+\.py`)[^`]*`)*?\n\n```python\n(.*?)```", AGENTS, re.DOTALL
    ):
        (tmp_path / name).write_text(text)
    (shown,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert "weights=WEIGHTS" in shown and len(list(tmp_path.iterdir())) == 3
    (tmp_path / "test_port.py").write_text(shown)
    return tmp_path


def run(project, *words):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=project, env=ENVIRONMENT, capture_output=True, text=True)


@pytest.mark.long
def test_the_tests_of_the_page_pass_and_its_options_do_what_they_say(project):
    assert set(OPTIONS) == {*WORDS, "--parity-lock-write"}
    done = run(project, "--parity-report", "report", "--parity-lock", LOCK, "--parity-lock-write", "--parity-seed", "7")
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout[-3000:]
    assert {path.name for path in (project / "report").iterdir()} >= {"parity.json", "parity.md"}
    assert (project / LOCK).read_text().count("test_port.py") >= 2
    text = (project / "test_port.py").read_text()
    (project / "test_port.py").write_text(
        text.replace("    report = parity.check(REFERENCE, CANDIDATE, weights=WEIGHTS, **HOW)\n    print(report)", "    ...")
    )
    done = run(project, "--parity-lock", LOCK, "-k", "test_the_port")
    assert done.returncode != 0 and "test_the_port" in done.stdout + done.stderr


@pytest.mark.long
def test_the_three_lines_of_the_readme_are_right(tmp_path):
    """JAX' GELU is the tanh form unless it is told otherwise."""
    (block,) = [text for text in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "check.check(" in text]
    lines = [line for line in block.splitlines() if re.match(r"from transformer_mb import check|report = |print\(report", line)]
    assert len(lines) == 3
    (tmp_path / "three.py").write_text("\n".join([*lines, "import json; print(json.dumps(report.to_dict()))"]))
    done = subprocess.run([sys.executable, "three.py"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    *said, found = done.stdout.splitlines()
    assert said == ["different"] and f'# "{said[0]}"' in block
    assert json.loads(found)["candidate"] == "flax jax.nn:gelu"
