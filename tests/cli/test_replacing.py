"""What results may replace: never what the command itself reads or writes, and nothing else without --force."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from transformer_mb.checkpoint import read_checkpoint, write_checkpoint
from transformer_mb.errors import PortError
from transformer_mb.files.tensors import read_tensors, write_tensors

NOT_EVEN_FORCE = "not even --force replaces that"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def own_data(tmp_path, data) -> Path:
    return Path(shutil.copy(data, tmp_path / "own.tsv"))


@pytest.fixture
def best_before_last(checkpoint) -> Path:
    """As a training leaves it whose best epoch, the second of three, is not its last."""
    read = read_checkpoint(checkpoint)
    history = read.trainer["history"][:3]
    for row, loss in zip(history, (3.0, 1.0, 2.0), strict=True):
        row["validation_loss"] = loss
    write_checkpoint(checkpoint, replace(read, last=read.weights, trainer={**read.trainer, "history": history}))
    return checkpoint


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


def test_parity_does_not_replace_its_data(own_data, fails):
    before = own_data.read_bytes()
    cells = ("parity", "--backends", "numpy", "--cases", "layer forward: ffn relu [float64]")
    assert NOT_EVEN_FORCE in fails(*cells, "--data", own_data, "--json", own_data, "--force")
    assert own_data.read_bytes() == before


def test_a_port_says_why_the_optimizer_stays_behind(best_before_last, tmp_path, cli):
    done = cli("port", best_before_last, tmp_path / "p.npz", "--to", "npz")
    sentence = (
        "The model is the best, of epoch 2; the optimizer's state belongs to the last (last.safetensors) and stays behind."
    )
    assert done.status == 0 and "without the optimizer's state" in done.out and f"note: {sentence}" in done.out
    assert sentence in cli("inspect", best_before_last).out


def test_a_port_does_not_replace_its_source(best_before_last, tmp_path, fails, monkeypatch):
    before = contents(best_before_last)
    (tmp_path / "link").symlink_to(best_before_last)
    inside = best_before_last / "model.safetensors"
    monkeypatch.chdir(best_before_last)
    for source, destination, to in (
        (best_before_last, best_before_last, "canonical"),
        (best_before_last, tmp_path / "link", "canonical"),
        (".", best_before_last, "canonical"),
        (best_before_last, inside, "safetensors"),
        (inside, best_before_last, "canonical"),
        (inside, inside, "safetensors"),
    ):
        message = fails("port", source, destination, "--to", to, "--force")
        assert "must go to a place apart from its source" in message and "not even force replaces a part of it" in message
    assert contents(best_before_last) == before


def test_the_optimizers_own_file_is_called_what_it_is():
    """As torch.optim.Adam describes itself; read where torch itself would be, which takes seconds to import."""
    from transformer_mb.porting.formats.native_loaders.torch import parts

    with pytest.raises(PortError, match=r"got the state of an optimizer \(torch.optim\) alone.* NAME.optimizer.pt beside it"):
        parts(None, {"state": {}, "param_groups": [{"lr": 1e-3}], "transformer_mb.of": "0"}, Path("m.optimizer.pt"))


def test_cells_of_a_device_that_is_not_there_are_failed_and_not_executed(cli, tmp_path):
    cells = ("parity", "--backends", "numpy", "--device", "cuda", "--cases", "layer forward: ffn*")
    done = cli(*cells, "--json", tmp_path / "run.json", "--report", tmp_path / "report")
    run = json.loads((tmp_path / "run.json").read_text())
    assert done.status == 1 and run["cells"] == 0 < run["failed"] == run["planned"] == len(run["results"])
    assert f"0 of {run['planned']} cells executed: 0 passed, {run['planned']} failed" in done.out
    assert f"0 of {run['planned']} cells, 0 passed" in (tmp_path / "report" / "matrix.md").read_text()
    assert "judged" not in done.err


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
