"""What a port leaves for people and programs: permissions, the report as JSON, its notes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest

import transformer_mb as tmb
from porting.destinations import FOLDERS, model_for, source_for
from porting.small_model import refused
from transformer_mb.checkpoint import write_checkpoint
from transformer_mb.cli.main import main
from transformer_mb.errors import PortError
from transformer_mb.porting import port as port_module
from transformer_mb.porting.files.destination import Output
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.files.targets import find_target, write_target
from transformer_mb.porting.port import port


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return source_for("canonical", 0, tmp_path_factory.mktemp("model") / "model")


@pytest.fixture(params=[0o022, 0o027, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_files_have_the_permissions_that_the_umask_leaves(model, tmp_path, umask):
    port(model, tmp_path / "folder", to="canonical")
    port(model, tmp_path / "file.safetensors", to="safetensors")
    main(["port", str(model), str(tmp_path / "file.npz"), "--to", "npz", "--json", str(tmp_path / "report.json")])
    tmb.save(tmb.load(model), tmp_path / "saved")
    for folder in ("folder", "saved"):
        assert mode(tmp_path / folder) == 0o777 & ~umask
        assert {mode(path) for path in (tmp_path / folder).iterdir()} == {0o666 & ~umask}
    assert {mode(tmp_path / name) for name in ("file.npz", "file.safetensors", "report.json")} == {0o666 & ~umask}


def test_what_is_replaced_keeps_its_permissions(model, tmp_path):
    port(model, tmp_path / "folder", to="canonical")
    port(model, tmp_path / "file.npz", to="npz")
    (tmp_path / "folder").chmod(0o750)
    (tmp_path / "folder" / "config.json").chmod(0o640)
    (tmp_path / "file.npz").chmod(0o604)
    port(model, tmp_path / "folder", to="canonical", force=True)
    port(model, tmp_path / "file.npz", to="npz", force=True)
    assert mode(tmp_path / "folder") == 0o750 and mode(tmp_path / "folder" / "config.json") == 0o640
    assert mode(tmp_path / "folder" / "model.safetensors") == 0o644 and mode(tmp_path / "file.npz") == 0o604


@pytest.mark.parametrize("name", ["file/report.json", "folder", "out/report.json"])
def test_a_report_that_cannot_be_written_is_refused_before_the_work(model, tmp_path, monkeypatch, capfd, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    port(model, tmp_path / "out", to="canonical")
    before = os.stat(tmp_path / "out").st_ino
    monkeypatch.setattr(port_module, "read_source", lambda *arguments: pytest.fail("the work has begun"))
    arguments = ["port", str(model), str(tmp_path / "out"), "--to", "canonical", "--force", "--json", str(tmp_path / name)]
    assert main(arguments) == 2
    error = capfd.readouterr().err
    assert error.startswith("Error: ") and error.count("\n") == 1 and "unexpected" not in error and name in error
    assert os.stat(tmp_path / "out").st_ino == before and sorted(os.listdir(tmp_path)) == ["file", "folder", "out"]


@pytest.mark.parametrize("to", ["canonical", "npz"])
def test_a_report_that_fails_leaves_no_model(model, tmp_path, capfd, to):
    """Its disk is full, as no check before the work can know."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    try:
        (disk / "ballast").write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize))
        status = main(["port", str(model), str(tmp_path / "out"), "--to", to, "--json", str(disk / "report.json")])
        assert os.listdir(disk) == ["ballast"]
    finally:
        subprocess.run(["umount", disk], check=True)
    error = capfd.readouterr().err
    assert status == 2 and "report.json: No space left on device" in error and not (tmp_path / "out").exists()


def test_a_model_that_fails_leaves_no_report(model, tmp_path, monkeypatch):
    def failing(*arguments):
        raise PortError("it cannot")

    monkeypatch.setattr(Output, "put_in_place", failing)
    refused("it cannot", port, model, tmp_path / "out.npz", to="npz", report_file=tmp_path / "report.json")
    assert os.listdir(tmp_path) == []


def test_the_report_of_a_port_as_json(model, tmp_path):
    report = port(model, tmp_path / "out.npz", to="npz", report_file=tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text()) == json.loads(json.dumps(report.to_dict()))


HALVED = """
import sys, torch
made = torch.load(sys.argv[1], weights_only=True)
torch.save({name: tensor.to(torch.bfloat16) for name, tensor in made.items()}, sys.argv[2])
"""


@pytest.mark.long
def test_one_note_for_all_tensors_of_bfloat16(model, tmp_path):

    write_target(read_source(model, None, {}).model, find_target("torch"), tmp_path / "m.pt", {})
    subprocess.run([sys.executable, "-c", HALVED, tmp_path / "m.pt", tmp_path / "half.pt"], check=True)
    report = port(tmp_path / "half.pt", tmp_path / "m.npz", to="npz", config=model / "config.json")
    widened = [note for note in report.notes if "bfloat16" in note]
    assert widened == [f"{report.tensors} tensors of bfloat16 were widened to float32."] and report.tensors > 50


def test_every_kind_of_folder_has_the_same_permissions(tmp_path):
    """Some libraries make their files private."""
    for kind in FOLDERS:
        stage = tmp_path / f"stage{kind}"
        stage.mkdir()
        write_target(model_for(kind, 0), find_target(kind), stage / kind, {})
        Output(tmp_path / kind, find_target(kind)).put_in_place(stage)
        assert {mode(path) for path in (tmp_path / kind).iterdir()} == {0o644}, kind


def test_a_save_is_decided_where_nobody_else_can_change_it(model, tmp_path, monkeypatch):
    """Something else has come to the place while the files were written."""
    from transformer_mb.checkpoint import model as checkpoint_module
    from transformer_mb.checkpoint import read_checkpoint

    true = checkpoint_module.described_config

    def somebody_comes(config):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "diary.txt").write_text("mine")
        return true(config)

    monkeypatch.setattr(checkpoint_module, "described_config", somebody_comes)
    with pytest.raises(tmb.errors.CheckpointError, match="holds other files: nothing is written"):
        write_checkpoint(tmp_path / "out", read_checkpoint(model))
    assert os.listdir(tmp_path) == ["out"] and os.listdir(tmp_path / "out") == ["diary.txt"]
