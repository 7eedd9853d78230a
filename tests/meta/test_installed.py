"""An installed package brings two things to pytest in another folder: a plugin that costs next to nothing, and the suite."""

import os
import subprocess
import sys

import pytest

from transformer_mb.built_in import BUILT_IN

FRAMEWORKS = sorted({package for entry in BUILT_IN.values() for package in entry.requires} - {"numpy"})
MOST = 8  # modules that the plugin adds
LARGEST = 1_600_000  # bytes of the wheel, which holds the conformance suite too
PROJECT = f"""
import sys

print("imported:", *sorted(sys.modules))


def test_nothing_is_imported():
    assert "transformer_mb.pytest_plugin" in sys.modules
    assert not {{"numpy", *{FRAMEWORKS}}} & sys.modules.keys()
"""


@pytest.fixture
def run(places, tmp_path):
    """Run pytest on the project, in whose environment the wheel is installed."""
    (tmp_path / "test_project.py").write_text(PROJECT)

    def run(*options):
        environment = {**os.environ, "PYTHONPATH": str(places["wheel"])}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


def test_the_plugin_is_there_and_imports_no_framework(run):
    done = run()
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout
    assert run("-p", "no:transformer_mb").returncode == 1


def test_the_plugin_brings_a_collection_its_own_modules_and_no_other(run):
    """The plugin's cost is held by what it imports: a time would depend on the machine."""
    with_it, without = (_modules(run("--collect-only", "-s", *options)) for options in ((), ("-p", "no:transformer_mb")))
    added = with_it - without
    assert without <= with_it and added, without - with_it
    assert {name.partition(".")[0] for name in added} == {"transformer_mb"}, added
    assert len(added) <= MOST, added


def _modules(done):
    """The names that PROJECT prints when pytest has read it."""
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("imported: "))
    return set(line.split()[1:])


def test_the_suite_runs_from_the_wheel(run):
    """A file of it; the whole runs on a backend of another package in examples/."""
    suite = ("--pyargs", "transformer_mb.conformance", "-m", "not long", "-x")
    done = run(*suite, "--backend", "numpy", "-k", "test_masks or test_ties")
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-2000:]
    done = run(*suite, "--backend", "nonesuch", "-k", "test_masks")
    assert done.returncode == 1 and "must be one of" in done.stdout


def test_the_wheel_is_small(places):
    (wheel,) = places["wheel"].parent.glob("*.whl")
    assert 500_000 < wheel.stat().st_size < LARGEST, wheel.stat().st_size
