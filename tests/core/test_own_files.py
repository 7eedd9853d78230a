"""Recognize the logs, pictures and results that a training wrote itself: it may replace these and nothing else."""

import json
import os
import signal
import subprocess
import sys

import pytest

import trainings
import transformer_mb as tmb
from trainings import TINY, UNSEEN
from transformer_mb.errors import CheckpointError, DestinationError
from transformer_mb.training import Progress


def train(*arguments, **options):
    return trainings.train(*arguments, **{"epochs": 2, **options})


class Killed(Progress):
    """As a kill -9 leaves everything: in the middle of a step, and nothing is saved or closed."""

    def __init__(self, at):
        self.at = at

    def step(self, state):
        if state.step == self.at:
            raise MemoryError


def steps(path) -> list[int]:
    return [json.loads(line)["step"] for line in path.read_text().splitlines() if "learning_rate" in line]


@pytest.mark.parametrize("more", [{}, {"validation": UNSEEN, "keep_best": 2}])
def test_a_training_that_was_killed_before_its_first_save_begins_again(tmp_path, more):
    places = {"log": tmp_path / "m.jsonl", "tensorboard": tmp_path / "runs"}
    for at in (4, 5):
        with pytest.raises(MemoryError):
            train(tmp_path / "m", resume="auto", progress=Killed(at), **places, **more)
    assert steps(places["log"]) == [3] and not (tmp_path / "m").exists()
    train(tmp_path / "m", resume="auto", **places, **more)
    assert steps(places["log"]) == [3, 6]


def test_another_trainings_log_is_not_taken_for_its_own(tmp_path):
    log = tmp_path / "m.jsonl"
    train(tmp_path / "m", log=log)
    before = log.read_text()
    for folder, options in (("other", {"resume": "auto"}), ("m", {"resume": "auto", "force": False, "log": log})):
        if folder == "m":
            (tmp_path / "m").rename(tmp_path / "moved")
            options |= {"learning_rate": 0.5}
        with pytest.raises(DestinationError, match="must be a new file, or the log of this training, got one whose line 1"):
            train(tmp_path / folder, **{"log": log, **options})
    assert log.read_text() == before


@pytest.mark.parametrize(
    "text", ["My thesis\n", '{"step": 1, "epoch": 1, "mine": 2}\n', '{"step": 1}\n', "[1]\n", "\x00\xff", "3\n"]
)
def test_a_resume_overwrites_nobody_elses_file(tmp_path, text):
    train(tmp_path / "m")
    mine = tmp_path / "t.txt"
    mine.write_text(text)
    with pytest.raises(DestinationError, match="nothing of it is overwritten"):
        train(tmp_path / "m", epochs=3, resume=True, log=mine)
    assert mine.read_text() == text
    train(tmp_path / "m", epochs=3, resume=True, log=mine, force=True)
    assert steps(mine) == [9]


def test_lines_that_somebody_has_added_to_a_log_are_kept(tmp_path):
    log = tmp_path / "m.jsonl"
    train(tmp_path / "m", log=log)
    log.write_text(log.read_text() + "note to myself\n")
    with pytest.raises(DestinationError, match="line 3 is none of its own"):
        train(tmp_path / "m", epochs=3, resume=True, log=log)
    assert "note to myself" in log.read_text()


def edited(folder, **run) -> None:
    """A trainer.json from elsewhere, with other places."""
    path = folder / "trainer.json"
    trainer = json.loads(path.read_text())
    trainer.pop("saved_with", None)
    trainer["data"]["run"] |= run
    path.write_text(json.dumps(trainer))


@pytest.mark.parametrize("force", [False, True])
def test_no_place_that_a_checkpoint_alone_names_is_written_to(tmp_path, force):
    train(tmp_path / "m")
    (tmp_path / "t.txt").write_text("My thesis\n")
    (tmp_path / "runs").mkdir()
    edited(tmp_path / "m", log=str(tmp_path / "t.txt"), tensorboard=str(tmp_path / "runs"))
    train(tmp_path / "m", epochs=3, resume=True, force=force)
    edited(tmp_path / "m", log=str(tmp_path / "new.txt"), tensorboard=str(tmp_path / "new"))
    train(tmp_path / "m", epochs=4, resume=True, force=force)
    assert (tmp_path / "t.txt").read_text() == "My thesis\n" and not os.listdir(tmp_path / "runs")
    assert sorted(os.listdir(tmp_path)) == ["m", "runs", "t.txt"]


def test_no_cache_is_made_where_a_checkpoint_alone_says_so(tmp_path, data):
    tmb.train(data, tmp_path / "m", **TINY, epochs=1, cache=tmp_path / "cache")
    (tmp_path / "cache").rename(tmp_path / "moved")
    tmb.train(None, tmp_path / "m", epochs=2, resume=True)
    assert sorted(os.listdir(tmp_path)) == ["m", "moved"]


def test_what_is_not_written_is_said(cli, settings_file, tmp_path):
    assert cli("train", settings_file, "--epochs", 1, "--out", tmp_path / "m", "--log", tmp_path / "m.jsonl").status == 0
    (tmp_path / "m.jsonl").rename(tmp_path / "moved.jsonl")
    told = cli("train", "--out", tmp_path / "m", "--resume", "--epochs", 2)
    assert told.status == 0 and f"note: log {tmp_path / 'm.jsonl'} does not hold what this training wrote" in told.out
    assert cli("train", "--out", tmp_path / "m", "--resume", "--epochs", 3, "--log", tmp_path / "moved.jsonl").status == 0
    assert steps(tmp_path / "moved.jsonl") == [3, 9]


def test_a_command_that_is_given_again_replaces_its_own_pictures_and_results(cli, fails, settings_file, tmp_path):
    own = ("--loss-curve", tmp_path / "loss.svg", "--json", tmp_path / "m.json", "--log", tmp_path / "m.jsonl")
    command = ("train", settings_file, "--out", tmp_path / "m", "--resume", "auto")
    for epochs in (1, 2, 2):
        assert cli(*command, "--epochs", epochs, *own).status == 0
    assert steps(tmp_path / "m.jsonl") == [3, 6] and json.loads((tmp_path / "m.json").read_text())["epoch"] == 2
    for name, option in (("mine.svg", "--loss-curve"), ("mine.json", "--json")):
        (tmp_path / name).write_text("mine")
        assert "or one that this training wrote" in fails(*command, "--epochs", 3, option, tmp_path / name)
        assert (tmp_path / name).read_text() == "mine"


def test_a_second_training_of_a_folder_is_refused_while_the_first_one_lives(tmp_path):
    class Second(Progress):
        def epoch(self, record):
            with pytest.raises(CheckpointError, match="must be a folder that no other training writes to, but this process"):
                train(tmp_path / "m")
            train(tmp_path / "other", resume="auto")

    train(tmp_path / "m", progress=Second())
    assert sorted(os.listdir(tmp_path)) == ["m", "other"]


def test_a_dead_process_blocks_nobody(tmp_path, data):
    line = [sys.executable, "-m", "transformer_mb", "train", "--data", data, "--epochs", "4000", "--num-hiddens", "8",
            "--out", tmp_path / "m", "--save-every", "1"]  # fmt: skip
    process = subprocess.Popen([*map(str, line)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    process.stderr.readline()
    process.send_signal(signal.SIGSTOP)
    with pytest.raises(CheckpointError, match=rf"but process {process.pid} .*which is stopped"):
        tmb.train(data, tmp_path / "m", resume="auto")
    process.kill()  # perhaps in the middle of a save
    process.communicate()
    train(tmp_path / "m", epochs=1, force=True)
    assert os.listdir(tmp_path) == ["m"]


def test_who_stood_still_does_not_take_a_finished_training_back(tmp_path, monkeypatch):
    """Where the file system has no locks: each save looks whether it follows this training's own last one."""
    monkeypatch.setattr("transformer_mb.files.locks._attempt", lambda path, held: ("", False))
    train(tmp_path / "m")

    class Meanwhile(Progress):
        def epoch(self, record):
            if record.epoch == 3:
                train(tmp_path / "m", epochs=12, resume="auto")

    with pytest.raises(CheckpointError, match="another training has written there meanwhile: it stays as it is"):
        train(tmp_path / "m", epochs=6, resume="auto", save_every=1, progress=Meanwhile())
    assert json.loads((tmp_path / "m" / "trainer.json").read_text())["epoch"] == 12
