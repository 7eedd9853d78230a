"""A stranger's way through the README: a folder of transformers to another framework, which generates the same texts."""

import subprocess
import sys

import pytest

from elsewhere import elsewhere
from porting.five_scripts import lines
from porting.strangers_folder import LINES

TEXTS = [line for line in lines() if line == line.strip() and "\u2028" not in line]


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """The folder, and the texts that transformers' generate makes by its settings."""
    folder = tmp_path_factory.mktemp("stranger")
    texts = elsewhere("porting.strangers_folder:made", folder=folder, lines=TEXTS)[1]["texts"]
    return folder / "bart", texts


@pytest.fixture(scope="module")
def model(stranger, tmp_path_factory):
    """The checkpoint that ``port`` makes of it."""
    from transformer_mb.porting.port import port

    place = tmp_path_factory.mktemp("model") / "model"
    assert port(stranger[0], place, "canonical").holds
    return place


def translate(model, text, *options):
    """Run the command line in a process of its own, which a framework takes for itself."""
    command = [sys.executable, "-m", "transformer_mb", "translate", str(model), *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True)


@pytest.mark.long(but=1)
@pytest.mark.parametrize("backend", ["jax", "paddle", "mxnet"])
def test_the_texts_are_those_of_generate(backend, stranger, model):
    expected = stranger[1]
    assert len(set(expected)) > LINES / 3 and sum(map(len, expected)) > 5 * LINES
    done = translate(model, "".join(f"{line}\n" for line in TEXTS[:LINES]), "--as-published", "--backend", backend)
    assert done.stdout.split("\n")[:-1] == [" ".join(text.splitlines()) for text in expected]


def test_who_decodes_otherwise_is_told(model):
    assert "--as-published does so" in translate(model, "a\n", "--max-steps", "3").stderr
