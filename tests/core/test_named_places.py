"""Refuse a path that is none, or an empty name, by the name of the option that gave it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import transformer_mb as tmb
from transformer_mb.errors import ConfigError

PAIRS = [("a b", "x y"), ("b a", "y x")]
SMALL: dict[str, Any] = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 1, "epochs": 1}
PATHS = [
    "target",
    "validation_target",
    "tokenizer",
    "vocabulary",
    "target_vocabulary",
    "cache",
    "init_from",
    "log",
    "tensorboard",
]


def refused(**options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        tmb.train(PAIRS, **SMALL, **options)
    return str(caught.value)


@pytest.mark.parametrize("name", PATHS)
def test_what_is_no_path_is_refused_and_not_taken_for_nothing(name: str) -> None:
    for wrong in (3, ["a"], True):
        assert refused(**{name: wrong}) == f"{name} must be a path, got {wrong!r}."


@pytest.mark.parametrize("name", [*PATHS, "validation"])
def test_a_path_that_no_file_can_have_is_refused_by_its_options_name(name: str) -> None:
    assert refused(**{name: ""}) == f"{name} must be a path, or left out, got ''."
    for wrong in ("a\0b", "a\ud800b"):
        assert refused(**{name: wrong}) == f"{name} must be a path of characters that a file's name may have, got {wrong!r}."


def test_a_name_is_a_string_of_some_characters() -> None:
    for name in ("preset", "backend", "device", "dtype"):
        assert refused(**{name: ""}) == f"{name} must be a name, or left out, got ''."
    for name in ("preset", "backend", "bad_lines"):
        assert refused(**{name: ["a"]}) == f"{name} must be a string, got ['a']."


def test_files_of_settings_and_checkpoints_name_no_such_places_either(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('log = "a\\u0000b"\n')
    (tmp_path / "pairs.tsv").write_text("a b\tx y\n")
    outcome = cli("train", tmp_path / "c.toml", "--data", tmp_path / "pairs.tsv", "--out", tmp_path / "m")
    assert outcome.status == 2 and "log must be a path of characters that a file's name may have" in outcome.err

    folder = tmp_path / "trained"
    tmb.train(PAIRS, folder, **SMALL)
    trainer = json.loads((folder / "trainer.json").read_text())
    del trainer["saved_with"]
    trainer["data"]["run"]["tensorboard"] = "a\0b"
    (folder / "trainer.json").write_text(json.dumps(trainer))
    with pytest.raises(ConfigError, match="tensorboard must be a path of characters"):
        tmb.train(PAIRS, folder, resume=True, epochs=2)


def test_no_command_takes_an_empty_path(cli: Any) -> None:
    for words in (("train", "--json", ""), ("train", ""), ("evaluate", "", "--data", "x"), ("compare", "runs", "--json", "")):
        outcome = cli(*words)
        assert outcome.status == 2 and "a path was expected, got ''." in outcome.err, words
