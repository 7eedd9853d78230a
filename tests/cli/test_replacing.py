"""What results may replace: never what the command itself reads or writes, and nothing else without --force."""

import json
import os

import pytest

from trainings import contents
from transformer_mb.files.tensors import read_tensors, write_tensors

NOT_EVEN_FORCE = "not even --force replaces that"


@pytest.mark.parametrize("command", ["inspect", "presets", "port", "backends"])
def test_a_result_replaces_no_file_without_force(checkpoint, own_data, tmp_path, fails, command):
    arguments = {"inspect": [checkpoint], "port": [checkpoint, tmp_path / "p.npz", "--to", "npz"]}.get(command, [])
    before = own_data.read_bytes()
    assert f"{own_data} must be a new file, but there is one already" in fails(command, *arguments, "--json", own_data)
    assert own_data.read_bytes() == before and sorted(os.listdir(tmp_path)) == ["model", "own.tsv"]


@pytest.mark.parametrize("command", ["inspect", "presets"])
def test_force_replaces_an_earlier_result(checkpoint, tmp_path, cli, command):
    (tmp_path / "result.json").write_text("an earlier one")
    arguments = [checkpoint] if command == "inspect" else []
    assert cli(command, *arguments, "--json", tmp_path / "result.json", "--force").status == 0
    assert json.loads((tmp_path / "result.json").read_text())


@pytest.mark.parametrize("place", ["model.safetensors", "config.json", "new.json"])
def test_no_result_goes_into_the_model_that_is_looked_at(checkpoint, tmp_path, fails, place):
    before = contents(checkpoint)
    port = ("port", checkpoint, tmp_path / "p.npz", "--to", "npz")
    for command in (("inspect", checkpoint), port):
        message = fails(*command, "--json", checkpoint / place, "--force")
        assert NOT_EVEN_FORCE in message and f"lies inside {checkpoint}" in message
    assert contents(checkpoint) == before and not (tmp_path / "p.npz").exists()


def test_no_report_replaces_what_lies_beside_a_source_or_the_result_itself(checkpoint, tmp_path, cli, fails):
    assert cli("port", checkpoint, tmp_path / "p.pdparams", "--to", "paddle").status == 0
    for name in ("p.pdparams", "p.pdopt", "p.pdparams.config.json", "q.npz"):
        arguments = ("port", tmp_path / "p.pdparams", tmp_path / "q.npz", "--to", "npz", "--force")
        assert f"which is {tmp_path / name}" in fails(*arguments, "--json", tmp_path / name)


def test_training_replaces_neither_its_data_nor_its_checkpoint(own_data, tmp_path, fails):
    before = own_data.read_bytes()
    linked = tmp_path / "link.tsv"
    linked.symlink_to(own_data)
    train = ("train", "--data", own_data, "--out", tmp_path / "new", "--epochs", 1, "--force")
    for place in (own_data, linked, tmp_path / "new" / "result.json"):
        assert NOT_EVEN_FORCE in fails(*train, "--json", place)
    assert own_data.read_bytes() == before and not (tmp_path / "new").exists()
    assert NOT_EVEN_FORCE in fails(*train, "--json", tmp_path / "x.svg", "--loss-curve", tmp_path / "x.svg")


def test_a_training_that_is_resumed_knows_its_data_by_itself(checkpoint, own_data, fails):
    state = json.loads((checkpoint / "trainer.json").read_text())
    state["data"]["source"] = str(own_data)
    del state["saved_with"]
    (checkpoint / "trainer.json").write_text(json.dumps(state))
    before = own_data.read_bytes()
    assert NOT_EVEN_FORCE in fails("train", "--out", checkpoint, "--resume", "--json", own_data, "--force")
    assert own_data.read_bytes() == before


def test_evaluating_and_translating_replace_no_input(checkpoint, own_data, fails):
    before = contents(checkpoint)
    for place in (own_data, checkpoint / "config.json"):
        assert NOT_EVEN_FORCE in fails("evaluate", checkpoint, "--data", own_data, "--json", place, "--force")
    assert NOT_EVEN_FORCE in fails("translate", checkpoint, "--attention", checkpoint / "trainer.json", "--force")
    assert NOT_EVEN_FORCE in fails("demo", "--out", checkpoint, "--json", checkpoint / "config.json", "--force")
    assert contents(checkpoint) == before


def test_folders_above_a_result_are_made(checkpoint, own_data, tmp_path, cli):
    new = tmp_path / "a" / "b"
    assert cli("evaluate", checkpoint, "--data", own_data, "--num-examples", 1, "--json", new / "e.json").status == 0
    assert cli("translate", checkpoint, "--attention", new / "c" / "t.jsonl", stdin="go .\n").status == 0
    options = ("--loss-curve", new / "d" / "l.svg", "--json", new / "e" / "t.json")
    assert cli("train", "--out", checkpoint, "--resume", "--data", own_data, *options).status == 0
    assert all((new / name).is_file() for name in ("e.json", "c/t.jsonl", "d/l.svg", "e/t.json"))


def test_no_folder_is_left_where_nothing_comes_of_it(checkpoint, tmp_path, fails):
    tensors = read_tensors(checkpoint / "model.safetensors")
    write_tensors(checkpoint / "model.safetensors", dict(list(tensors.items())[1:]))
    fails("translate", checkpoint, "--attention", tmp_path / "a" / "t.jsonl")
    fails("port", checkpoint, tmp_path / "b" / "m.npz", "--to", "npz", "--json", tmp_path / "c" / "r.json")
    assert os.listdir(tmp_path) == ["model"]


def test_train_and_evaluate_try_places_before_the_work(fails, settings_file, trained, data, tmp_path):
    message = fails("train", settings_file, "--out", "/proc/model")
    assert "/proc/model cannot be created: /proc must be a folder that may be written to" in message
    for option in ("--json", "--loss-curve"):
        message = fails("train", settings_file, "--out", tmp_path / "model", option, "/proc/x.svg")
        assert message.startswith("Error: /proc/x.svg: ")
    assert fails("evaluate", trained, "--data", data, "--json", "/proc/x.json").startswith("Error: /proc/x.json: ")
    assert os.listdir(tmp_path) == []


def test_nothing_but_force_overwrites_a_file(cli, fails, trained, settings_file, data, tmp_path):
    mine = {name: tmp_path / name for name in ("a.json", "a.svg", "b-2.png", "a.jsonl")}
    for path in mine.values():
        path.write_text("mine")
    train = ("train", settings_file, "--epochs", 1, "--out", tmp_path / "model")
    evaluate = ("evaluate", trained, "--data", data, "--num-examples", 2, "--json", mine["a.json"])
    for command in ((*train, "--json", mine["a.json"]), (*train, "--loss-curve", mine["a.svg"]), evaluate,
                    ("translate", trained, "--attention", mine["a.jsonl"]),
                    ("translate", trained, "--attention", tmp_path / "b.png"),
                    ("demo", "--json", mine["a.json"]), ("demo", "--out", trained),
                    ("backends", "--json", mine["a.json"])):  # fmt: skip
        message = fails(*command)
        assert "must be a new file, but there is one already" in message or "holds a checkpoint already" in message
    assert {path.read_text() for path in mine.values()} == {"mine"} and not (tmp_path / "model").exists()
    assert cli(*evaluate, "--force").status == 0 and json.loads(mine["a.json"].read_text())["pairs"] == 2
    assert cli("evaluate", trained, "--data", data, "--num-examples", 2, "--json", "/dev/null").status == 0
