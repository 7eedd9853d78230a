"""Standard streams: closed, full or read by nobody, and what frameworks write to them."""

import os
import subprocess
import sys

import pytest

LINE = "go .\n"
TALKS = """
import logging, os, sys, warnings
from transformer_mb.cli import main
from transformer_mb.cli.commands import presets
def talkative():
    os.write(2, b"native\\n")
    warnings.warn("warned", UserWarning)
    logging.getLogger("framework").error("logged")
    print("ours", file=sys.stderr)
    if "crash" in sys.argv:
        os.abort()
    return []
presets.names = talkative
sys.exit(main.main(sys.argv[1:2] + ["presets"] if sys.argv[1:2] == ["--debug"] else ["presets"]))
"""


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


def test_training_goes_on_where_nobody_reads(data, tmp_path):
    line = f"{sys.executable} -m transformer_mb train --data {data} --num-examples 4 --epochs 1 --out {tmp_path}/model | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr and (tmp_path / "model" / "config.json").exists()


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["translate MODEL", "presets", "evaluate MODEL --data DATA", "--version", "train --help"])
def test_a_full_standard_output_is_named(trained, data, command, unbuffered):
    words = command.replace("MODEL", str(trained)).replace("DATA", str(data)).split()
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "transformer_mb", *words], input=LINE, stdout=full,
                              stderr=subprocess.PIPE, text=True, env=environment)  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "Error: Standard output: No space left on device.\n")


def test_closed_standard_input_is_one_paragraph(trained):
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m transformer_mb translate {trained} <&-"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.startswith("Error: Standard input must be open, got it closed")
    assert done.stderr.count("\n") == 1 and done.stdout == ""


def test_what_frameworks_say_is_kept_away_and_shown_for_debugging():
    def run(*words):
        return subprocess.run([sys.executable, "-c", TALKS, *words], capture_output=True, text=True)

    assert run().stderr == "ours\n"
    assert all(word in run("--debug").stderr for word in ("native\n", "warned", "logged", "ours\n"))
    assert "Fatal Python error: Aborted" in run("crash").stderr
