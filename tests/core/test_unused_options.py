"""What is said of a training and could not be used: refused, or told, before anything of a folder is looked at."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

import transformer_mb as tmb
from transformer_mb.distributed import Place
from transformer_mb.errors import DistributedError, TransformerMBError
from transformer_mb.training.initial_model import ignored_initial
from transformer_mb.training.settings import Settings

PAIRS = [("a b", "x y"), ("b a", "y x")]
SMALL: dict[str, Any] = {
    "num_hiddens": 8,
    "ffn_num_hiddens": 8,
    "num_layers": 1,
    "num_heads": 1,
    "epochs": 1,
    "backend": "numpy",
}


def refused(*places: Any, **options: Any) -> str:
    with pytest.raises(TransformerMBError) as caught:
        tmb.train(PAIRS, *places, **{**SMALL, **options})
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("target", "t.txt"), ("validation_target", "t.txt"), ("cache", "c"), ("columns", (1, 2)), ("bad_lines", "drop")],
)
def test_what_is_said_of_a_file_is_refused_where_none_is_read(name: str, value: Any) -> None:
    words = refused(**{name: value})
    assert words.startswith(f"{name} (--{name.replace('_', '-')}) is ") and "must name that file, got" in words


@pytest.mark.parametrize(
    ("name", "value"),
    [("place", 3), ("progress", 3), ("progress", tmb.training.Progress), ("signals", 3), ("signals", [signal.SIGKILL])],
)
def test_what_a_training_cannot_call_is_refused_by_name(name: str, value: Any) -> None:
    assert refused(**{name: value}).startswith(f"{name} must be ")


def test_wrong_options_come_before_the_folder_that_holds_a_checkpoint(tmp_path: Path) -> None:
    tmb.train(PAIRS, tmp_path / "m", **SMALL)
    assert "holds a checkpoint already" in refused(tmp_path / "m")
    for name in ("tokenizer", "vocabulary"):
        assert str(tmp_path / "none.json") in refused(tmp_path / "m", **{name: tmp_path / "none.json"})
    assert "num_hiddens is 8, not 16" in refused(tmp_path / "m", init_from=tmp_path / "m", num_hiddens=16)


def test_another_model_to_begin_from_is_told_where_a_training_goes_on() -> None:
    asked = Settings(run={"init_from": "b"})
    assert "began from the model of a" in next(ignored_initial(asked, "a"))
    assert "began from new weights" in next(ignored_initial(asked, None))
    assert not list(ignored_initial(asked, "./b")) and not list(ignored_initial(Settings(), "a"))


def test_what_a_training_began_from_is_kept_by_a_resume(tmp_path: Path) -> None:
    tmb.train(PAIRS, tmp_path / "a", **SMALL)
    for epochs in (1, 2):
        more = {**SMALL, "epochs": epochs, "init_from": tmp_path / "a", "resume": "auto"}
        tmb.train(PAIRS, tmp_path / "m", **more)
        trainer = tmb.checkpoint.read_checkpoint(tmp_path / "m").trainer
        assert trainer["epoch"] == epochs and trainer["data"]["init_from"] == str(tmp_path / "a")


def test_half_of_a_place_is_named_and_no_processes_are_too_few() -> None:
    with pytest.raises(DistributedError, match="got WORLD_SIZE without RANK"):
        Place.from_environment({"WORLD_SIZE": "2"})
    with pytest.raises(DistributedError, match="WORLD_SIZE must be a whole number from 1"):
        Place.from_environment({"WORLD_SIZE": "0", "RANK": "0"})
