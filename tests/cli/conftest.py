"""A small trained checkpoint, and ways to run the command line in this process."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from transformer_mb.cli.main import main
from transformer_mb.data import demo_pairs


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def cli(capfd, monkeypatch):
    """Run a command line; ``stdin`` is what it reads."""

    def run(*arguments: object, stdin: str | bytes = "") -> Outcome:
        raw = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        capfd.readouterr()
        status = main([str(argument) for argument in arguments])
        return Outcome(status, *capfd.readouterr())

    return run


@pytest.fixture
def fails(cli):
    """Run a command line that must end in one readable paragraph on standard error; returns it."""

    def run(*arguments: object, stdin: str | bytes = "", status: int = 2) -> str:
        outcome = cli(*arguments, stdin=stdin)
        assert outcome.status == status, outcome
        lines = [line for line in outcome.err.splitlines() if not line.startswith("epoch ")]  # progress may come before
        assert len(lines) == 1 and lines[0].startswith("Error: ") and lines[0].endswith("."), outcome.err
        assert "--debug" not in lines[0], "an error that nobody thought of"
        return lines[0]

    return run


TRAINING = """
[model]
num_hiddens = 32
ffn_num_hiddens = 64
encoder_num_layers = 1
decoder_num_layers = 1
tie_output = true
dropout = 0.0
max_len = 30

[training]
epochs = 60
batch_size = 16
learning_rate = 0.01

[data]
source = "{data}"
"""


@pytest.fixture(scope="session")
def pairs() -> list[tuple[str, str]]:
    return demo_pairs()[0][:40]


@pytest.fixture(scope="session")
def data(tmp_path_factory, pairs) -> Path:
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def settings_file(tmp_path_factory, data) -> Path:
    path = tmp_path_factory.mktemp("settings") / "train.toml"
    path.write_text(TRAINING.format(data=data), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory, settings_file) -> Path:
    """A checkpoint that knows the forty sentences by heart, as with each of eight seeds, made by the command itself."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    assert main(["train", str(settings_file), "--out", str(folder), "--backend", "numpy"]) == 0
    return folder


@pytest.fixture
def checkpoint(trained, tmp_path) -> Path:
    """A copy to damage or to train on."""
    return Path(shutil.copytree(trained, tmp_path / "model"))
