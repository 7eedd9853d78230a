"""``port`` and ``inspect``: what they say, refuse and leave where they were."""

import os
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import transformer_mb as tmb
from porting.small_model import CONFIG, weights_of
from transformer_mb.checkpoint import read_checkpoint, write_checkpoint
from transformer_mb.errors import PortError
from transformer_mb.files.tensors import read_tensors, write_tensors
from transformer_mb.porting.files.targets import find_target


@pytest.fixture
def best_before_last(checkpoint) -> Path:
    """As a training leaves it whose best epoch, the second of three, is not its last."""
    read = read_checkpoint(checkpoint)
    history = read.trainer["history"][:3]
    for row, loss in zip(history, (3.0, 1.0, 2.0), strict=True):
        row["validation_loss"] = loss
    write_checkpoint(
        checkpoint, replace(read, last=read.weights, trainer={**read.trainer, "history": history, "epoch": len(history)})
    )
    return checkpoint


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_proof_says_what_it_holds_for(small, tmp_path, cli):
    np.savez(tmp_path / "bare.npz", **weights_of(small).weights)
    (tmp_path / "settings.json").write_text('{"num_heads": 8}')
    done = cli("port", tmp_path / "bare.npz", tmp_path / "out", "--to", "canonical", "--config", tmp_path / "settings.json")
    assert done.status == 0
    assert "the proof rests on what is given, taken on trust: encoder_num_heads = 8, decoder_num_heads = 8" in done.out
    assert "the proof rests on what is assumed, since nothing says otherwise" in done.out


def test_a_number_that_is_not_finite_and_no_batch_touches_is_noted(small, tmp_path, cli):
    tensors = read_tensors(small / "model.safetensors")
    tensors["encoder.embedding.weight"][CONFIG.bos_id, 0] = np.nan  # which the probe leaves out
    write_tensors(small / "model.safetensors", tensors)
    done = cli("port", small, tmp_path / "m.npz", "--to", "npz")
    sentence = "note: encoder.embedding.weight holds 1 number that is not finite."
    assert done.status == 0 and sentence in done.out
    assert sentence in cli("inspect", small).out


def test_the_current_folder_and_hidden_names_are_names_too(small, tmp_path, cli, fails, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "must be a canonical checkpoint or a" in fails("inspect", ".")
    assert "must be a canonical checkpoint or a" in fails("port", ".", "p/z", "--to", "canonical")
    assert not (tmp_path / "p").exists()
    monkeypatch.chdir(small)
    assert cli("inspect", ".").status == 0 and cli("port", ".", "../p/z", "--to", "canonical").status == 0
    assert "There is no file or folder" in fails("inspect", "./..x")


def test_an_optimizer_that_is_dropped_is_not_said_to_go_on(trained, tmp_path, cli):
    done = cli("port", trained, tmp_path / "m.params", "--to", "mxnet")
    assert done.status == 0 and "The optimizer's state was dropped" in done.out and "goes on:" not in done.out
    assert "the optimizer goes on" not in done.out


def test_a_name_that_keras_refuses_is_refused_before_the_work(small, tmp_path, fails, monkeypatch):
    from transformer_mb.porting import port

    monkeypatch.setattr(port, "read_source", lambda *arguments: pytest.fail("the work has begun"))
    error = fails("port", small, tmp_path / "z.pt", "--to", "keras")
    assert "must end in .weights.h5" in error and "got z.pt" in error and os.listdir(tmp_path) == ["small"]


def test_a_file_that_cannot_be_read_is_called_what_it_seems_to_be(small, tmp_path, fails):
    np.savez(tmp_path / "m.npz", **weights_of(small).weights)
    whole = (tmp_path / "m.npz").read_bytes()
    for name in ("cut.npz", "cut.pt", "cut.keras"):
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        assert "it is a zip without its end" in fails("inspect", tmp_path / name)
    with zipfile.ZipFile(tmp_path / "m.keras", "w") as archive:
        archive.writestr("model.weights.h5", b"")
    assert "save_weights('NAME.weights.h5')" in fails("inspect", tmp_path / "m.keras")
    (tmp_path / "empty.pt").write_bytes(b"")
    assert "it is empty" in fails("port", tmp_path / "empty.pt", tmp_path / "out", "--to", "canonical")


@pytest.mark.parametrize(("to", "title"), [("onnx", "ONNX encoder"), ("ctranslate2", "CTranslate2 folder")])
def test_an_export_is_written_only(small, tmp_path, fails, to, title):
    (tmp_path / "exported").mkdir()
    find_target(to).family.write(weights_of(small), tmp_path / "exported")
    for command in (("inspect", tmp_path / "exported"), ("port", tmp_path / "exported", tmp_path / "x", "--to", "canonical")):
        error = fails(*command)
        assert title in error and "written only" in error


def test_a_format_that_contradicts_a_folder_is_refused(small, tmp_path, fails):
    error = fails("port", small, tmp_path / "out", "--to", "canonical", "--from", "paddle")
    assert "must be a file where from says paddle, got a folder: a canonical checkpoint" in error
    assert "from says paddle" in fails("inspect", small, "--from", "paddle")


def test_a_missing_package_comes_with_its_install_line(small, tmp_path, fails, monkeypatch):
    import importlib.util

    true = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "h5py" else true(name, *more))
    error = fails("port", small, tmp_path / "m.weights.h5", "--to", "keras")
    assert error.endswith("takes h5py, which is not installed: pip install h5py.")


def test_a_port_without_vocabularies_says_how_to_give_them(small, tmp_path, checkpoint):
    np.savez(tmp_path / "bare.npz", **weights_of(small).weights)
    report = tmb.port(tmp_path / "bare.npz", tmp_path / "out", to="canonical", config={"num_heads": 4})
    assert any("source_vocabulary and target_vocabulary" in note for note in report.notes)
    assert not any("target_vocabulary" in note for note in tmb.port(checkpoint, tmp_path / "again", to="canonical").notes)


@pytest.mark.parametrize("to", ["npz", "canonical"])
def test_folders_above_a_destination_are_made_and_gone_when_nothing_comes_of_it(small, tmp_path, to):
    tmb.port(small, tmp_path / "a" / "b" / "m", to=to)
    assert (tmp_path / "a" / "b" / "m").exists()
    with pytest.raises(PortError):
        tmb.port(tmp_path / "absent", tmp_path / "c" / "d" / "m", to=to)
    assert sorted(os.listdir(tmp_path)) == ["a", "small"]


def test_a_destination_that_cannot_be_written_is_found_before_the_work(small, fails, monkeypatch):
    from transformer_mb.porting import port

    monkeypatch.setattr(port, "read_source", lambda *arguments: pytest.fail("the work has begun"))
    assert "/proc/x" in fails("port", small, "/proc/x/m.npz", "--to", "npz")


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
