"""Python in a process of its own, where the examples can be imported and a framework is alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def python():
    def run(*arguments, backend="numpy", status=0):
        environment = {**os.environ, "PYTHONPATH": str(EXAMPLES), "TRANSFORMER_MB_BACKEND": backend}
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == status, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done

    return run
