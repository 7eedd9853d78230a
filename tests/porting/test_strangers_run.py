"""A stranger's way through the README: a folder of transformers to another framework, which generates the same texts."""

import subprocess
import sys
from functools import cache

import pytest

from elsewhere import elsewhere
from porting.five_scripts import lines
from porting.strangers_folder import LINES, MODELS

TEXTS = [line for line in lines() if line == line.strip() and "\u2028" not in line]
NAMES = ["bart", "llama", "t5", "byt5"]


@pytest.fixture(scope="module")
def strangers(tmp_path_factory):
    """By name: the texts that transformers' generate makes by its settings, and the checkpoint that ``port`` makes of it."""
    from transformer_mb.porting.port import port

    folder = tmp_path_factory.mktemp("strangers")

    @cache
    def stranger(name):
        texts = elsewhere("porting.strangers_folder:made", folder=folder / name, lines=TEXTS, name=name)[1]["texts"]
        assert port(folder / name / name, folder / f"{name}-model", "canonical").holds
        return texts, folder / f"{name}-model"

    return stranger


def run(model, text, *options, command="translate"):
    """Run the command line in a process of its own, which a framework takes for itself; return both its outputs."""
    words = [sys.executable, "-m", "transformer_mb", command, str(model), *options]
    done = subprocess.run(words, input=text.encode(), capture_output=True, check=True)
    return done.stdout.decode(), done.stderr.decode()  # as they are: a text may hold a carriage return


@pytest.mark.long(but=2)
@pytest.mark.parametrize("backend", ["jax", "paddle", "mxnet"])
@pytest.mark.parametrize("name", NAMES)
def test_the_texts_are_those_of_generate(name, backend, strangers):
    expected, model = strangers(name)
    assert len(set(expected)) > LINES / 3 and sum(map(len, expected)) > 5 * LINES
    *_, task = MODELS[name]
    command = "generate" if name == "llama" else "translate"
    given = "".join(f"{task}{line}\n" for line in TEXTS[:LINES])
    written, _ = run(model, given, "--as-published", "--backend", backend, command=command)
    assert written.split("\n")[:-1] == [text.replace("\n", " ") for text in expected]


def test_who_decodes_otherwise_is_told(strangers):
    assert "--as-published does so" in run(strangers("bart")[1], "a\n", "--max-steps", "3")[1]
