"""The command line where standard streams are closed."""

import subprocess
import sys


def run(command: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["sh", "-c", command.replace("transformer-mb", f"{sys.executable} -m transformer_mb")], capture_output=True, text=True
    )


def test_closed_standard_output_is_one_paragraph():
    done = run("transformer-mb --version >&-")
    assert (
        done.returncode == 2 and done.stderr.startswith("Error: Standard output must be open") and done.stderr.count("\n") == 1
    )


def test_other_closed_streams_do_no_harm():
    done = run("transformer-mb --version <&- 2>&-")
    assert done.returncode == 0 and done.stdout.startswith("transformer_mb ")
