"""What the tests of a file share is made once, also where several processes run them: xdist keeps these tests together."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
FILES = {"tests/core/test_bad_lines.py", "tests/core/test_presets.py"}


def test_two_processes_part_the_tests_by_files():
    command = [sys.executable, "-m", "pytest", "-v", "--numprocesses", "2", "--dist", "loadgroup", *sorted(FILES)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TESTS.parent)
    ran = {(line.split("::")[0].split()[-1], line.split()[0]) for line in done.stdout.splitlines() if "PASSED" in line}
    assert {file for file, _ in ran} == FILES and len(ran) == 2, ran


def collected(marks):
    """The cases of a test with the mark ``long(but=6)``."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", marks, "tests/reference/test_model_gradients.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TESTS.parent)
    return [line for line in done.stdout.splitlines() if "::test_model[" in line]


def test_some_cases_are_run_now_and_the_others_with_the_long_tests():
    now, later, all_of_them = map(collected, ("not long", "long", ""))
    assert len(now) == 6 < len(later) and sorted(now + later) == sorted(all_of_them)
    assert now[0] == all_of_them[0] and all_of_them.index(now[-1]) > len(all_of_them) * 3 // 4  # evenly spread
