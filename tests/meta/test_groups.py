"""What the tests of a file share is made once, also where several processes run them: xdist keeps these tests together."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
FILES = {"tests/core/test_text.py", "tests/core/test_presets.py"}


def test_two_processes_part_the_tests_by_files():
    command = [sys.executable, "-m", "pytest", "-v", "--numprocesses", "2", "--dist", "loadgroup", *sorted(FILES)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TESTS.parent)
    ran = {(line.split("::")[0].split()[-1], line.split()[0]) for line in done.stdout.splitlines() if "PASSED" in line}
    assert {file for file, _ in ran} == FILES and len(ran) == 2, ran
