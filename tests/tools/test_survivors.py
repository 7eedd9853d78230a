"""The tests that are said to hold what no cell sees: each fails once its mistake is planted."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from mutation.judged import SURVIVORS
from mutation.mutants import all_mutants
from mutation.sources import ROOT, folder, judge_of

TEST = re.compile(r"(?:tests|transformer_mb/conformance)/[\w/]+\.py::\w+")
HELD = {key: TEST.findall(reason) for key, reason in SURVIVORS.items() if "::" in reason}
COPIED = ("backends", "transformer_mb", "tests", "examples", "docs", "benchmarks")


def test_each_sentence_names_whole_tests():
    assert all(HELD.values()) and len(HELD) >= 8


@pytest.mark.long
@pytest.mark.parametrize("key", HELD)
def test_the_test_that_a_sentence_names_fails(key, tmp_path):
    part = key.partition("/")[0]
    mutant = next((one for one in all_mutants(part) if one.key == key), None)
    if mutant is None:
        pytest.skip("the mistake is none of today's: its sentence is kept until mistakes are made again")
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    planted = tmp_path / folder(part).relative_to(ROOT) / mutant.name
    assert planted.read_text() != mutant.text
    planted.write_text(mutant.text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--backend", judge_of(part), *HELD[key]],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    print(done.stdout[-400:])
    assert done.returncode == 1 and re.search(r"\d+ failed", done.stdout) and " error" not in done.stdout.splitlines()[-1]
