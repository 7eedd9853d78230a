"""The commands with this backend, by argument and by environment variable."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from transformer_mb.checkpoint import load, read_checkpoint
from transformer_mb.cli.main import main
from transformer_mb.registry import VARIABLE

PAIRS = "i see a cat .\tje vois un chat .\ni see a dog .\tje vois un chien .\nyou see a cat .\tvous voyez un chat .\n"


@pytest.fixture(scope="module")
def trained(backend_name, tmp_path_factory):
    """A folder trained with the backend named by argument."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "pairs.tsv").write_text(PAIRS)
    # A rate that ends near zero: with a constant one, whether the last step was a bad one is chance.
    options = ["--epochs", "200", "--learning-rate", "0.01", "--schedule", "linear", "--save-every", "200"]
    assert (
        main(
            ["train", "--data", str(folder / "pairs.tsv"), "--out", str(folder / "model"), *options, "--backend", backend_name]
        )
        == 0
    )
    return folder


def test_train_says_which_backend(trained, backend_name, capsys):
    command = ["train", "--resume", "--epochs", "201", "--data", str(trained / "pairs.tsv"), "--out", str(trained / "model")]
    assert main([*command, "--backend", backend_name]) == 0
    assert f"({backend_name}, cpu, float32)" in capsys.readouterr().out


SOURCES, TRANSLATIONS = "you see a cat .\n\ni see a dog .\n", "vous voyez un chat .\n\nje vois un chien .\n"


def test_translate(trained, backend_name, monkeypatch, capsys):
    monkeypatch.setenv(VARIABLE, "nonesuch")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SOURCES.encode()), encoding="utf-8"))
    assert main(["translate", str(trained / "model"), "--backend", backend_name]) == 0
    assert capsys.readouterr().out == TRANSLATIONS


@pytest.mark.long
def test_no_framework_speaks_before_the_answer(trained, backend_name):
    """Nor after it. In a process of its own, since most is said when a framework is imported."""
    command = [sys.executable, "-m", "transformer_mb", "translate", str(trained / "model"), "--beam", "2"]
    environment = {**os.environ, VARIABLE: backend_name}
    done = subprocess.run(command, input=SOURCES, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, TRANSLATIONS, "")


def test_evaluate(trained, backend_name, monkeypatch):
    monkeypatch.setenv(VARIABLE, backend_name)
    command = ["evaluate", str(trained / "model"), "--data", str(trained / "pairs.tsv"), "--json", str(trained / "scores.json")]
    assert main(command) == 0
    scores = json.loads((trained / "scores.json").read_text())
    assert scores["exact_match"] == 1.0 and scores["bleu"]["value"] == pytest.approx(100.0)


def test_a_training_begins_from_another_ones_model(trained, backend_name, tmp_path):
    """One step so small that it shows what it began from."""
    command = [
        "train",
        "--data",
        str(trained / "pairs.tsv"),
        "--init-from",
        str(trained / "model"),
        "--out",
        str(tmp_path / "fine"),
    ]
    assert main([*command, "--max-steps", "1", "--learning-rate", "1e-9", "--backend", backend_name]) == 0
    before, after = read_checkpoint(trained / "model"), read_checkpoint(tmp_path / "fine")
    assert after.optimizer["step"] == 1 and after.trainer["step"] == 1
    for name, value in before.weights.items():
        np.testing.assert_allclose(after.weights[name], value, rtol=1e-6, atol=1e-7)


def test_another_backend_reads_the_checkpoint(trained, reference):
    model = load(trained / "model", backend="numpy", dtype="float64")
    vocabulary = read_checkpoint(trained / "model").source_vocabulary
    ids = [[*vocabulary.encode("i see a dog ."), vocabulary.eos_id]]
    answer = reference.greedy(model, ids, None, 10)[0]
    assert read_checkpoint(trained / "model").target_vocabulary.decode(answer) == "je vois un chien ."


def test_a_device_that_is_not_there(trained, backend_name, capsys):
    assert main(["translate", str(trained / "model"), "--backend", backend_name, "--device", "tpu:9"]) == 2
    message = capsys.readouterr().err
    assert "must be one of cpu" in message and "got 'tpu:9'" in message and "Traceback" not in message


@pytest.mark.long
def test_demo(backend_name, tmp_path):
    assert main(["demo", "--backend", backend_name, "--json", str(tmp_path / "demo.json")]) == 0
    found = json.loads((tmp_path / "demo.json").read_text())
    assert found["backend"] == backend_name and found["exact_match"] >= 0.95
