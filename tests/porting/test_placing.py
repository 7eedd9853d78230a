"""What is put where: decided while nobody else can change it, all or nothing, and over nothing that is not ours."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import shutil
import signal
import socket
import stat
import subprocess
import time
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

import transformer_mb as tmb
from porting.destinations import FOLDERS, content, model_for, source_for
from porting.small_model import refused
from transformer_mb.checkpoint.files import FILES
from transformer_mb.errors import PortError
from transformer_mb.porting import port as port_module
from transformer_mb.porting.files.destination import Output, kind_of
from transformer_mb.porting.files.targets import FOLDERS as ROWS
from transformer_mb.porting.files.targets import Target, find_target, write_target
from transformer_mb.porting.formats import paddle

FORK = multiprocessing.get_context("fork")  # starts in a millisecond


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two models of the same sizes."""
    folder = tmp_path_factory.mktemp("models")
    return [source_for("canonical", number, folder / str(number)) for number in (0, 1)]


@pytest.fixture
def unproven(monkeypatch, tmp_path_factory):
    """What is tested lies after the proof, which takes a framework's import."""
    true, npz, aside = port_module.prove, find_target("npz"), tmp_path_factory.mktemp("proven") / "proven.npz"

    def proof_of_npz(source, *arguments):
        write_target(source.model, npz, aside, arguments[2])
        loading = npz.family.loading_of(source.model, npz.format, arguments[2])
        known = {Target: npz, type(aside): aside, type(loading): loading}
        return true(source, *(known.get(type(one), one) for one in arguments))

    monkeypatch.setattr(port_module, "prove", proof_of_npz)


def patch_replacing(monkeypatch, function):
    """Run ``function(new, final)`` before a file takes the place of another, by whichever call."""
    for module, name in (("os", "replace"), ("transformer_mb.files.renames", "exchange")):
        if importlib.util.find_spec(module) is not None:
            owner = importlib.import_module(module)
            real = getattr(owner, name)
            monkeypatch.setattr(owner, name, lambda new, final, real=real: function(Path(new), Path(final)) or real(new, final))


def port_at_once(source, place, to, start, results):
    os.fsync = lambda descriptor: time.sleep(0.02)  # the time in which another process can come
    start.wait()
    try:
        tmb.port(source, place, to=to)
        results.put("written")
    except PortError as error:
        results.put(str(error))


@pytest.mark.parametrize("to", ["canonical", "npz"])
def test_of_two_ports_into_one_place_one_is_refused(models, tmp_path, to):
    for attempt in range(5):
        place = tmp_path / f"{to}{attempt}"
        start, results = FORK.Barrier(2), FORK.Queue()
        processes = [FORK.Process(target=port_at_once, args=(model, place, to, start, results)) for model in models]
        for process in processes:
            process.start()
        said = sorted((results.get(timeout=60) for _ in processes), key=len)
        for process in processes:
            process.join()
        assert said[0] == "written" and "must be new, but it is there already" in said[1]
    left = [name for name in sorted(os.listdir(tmp_path)) if not name.endswith(".config.json")]
    assert left == [f"{to}{attempt}" for attempt in range(5)]


@pytest.mark.parametrize("how", ["immutable", "planted"])
def test_a_file_that_cannot_be_replaced_keeps_its_companion(models, tmp_path, monkeypatch, unproven, how):
    place = tmp_path / "out" / "m.pdparams"
    place.parent.mkdir()
    tmb.port(models[0], place, to="paddle")
    before = content(place.parent)
    if how == "immutable" and subprocess.run(["chattr", "+i", place], capture_output=True).returncode:
        pytest.skip("files cannot be made immutable here (chattr +i)")

    def failing(new, final):
        if final == place:
            raise OSError(1, "Operation not permitted", str(final))

    if how == "planted":
        patch_replacing(monkeypatch, failing)
    try:
        refused("cannot be written: Operation not permitted", tmb.port, models[1], place, to="paddle", force=True)
    finally:
        if how == "immutable":
            subprocess.run(["chattr", "-i", place], check=True)
    assert content(place.parent) == before


def port_and_be_killed(source, place, monkeypatch):
    patch_replacing(monkeypatch, lambda new, final: os.kill(os.getpid(), signal.SIGKILL) if final == place else None)
    tmb.port(source, place, to="paddle", force=True)


def test_a_companion_of_another_model_is_left_out(models, tmp_path, monkeypatch, unproven):
    """Killed between the two: weights of one model and moments of another never pass as one."""
    place = tmp_path / "out" / "m.pdparams"
    place.parent.mkdir()
    tmb.port(models[0], place, to="paddle")
    whole = paddle.read(place)
    assert whole.optimizer is not None and not whole.notes
    process = FORK.Process(target=port_and_be_killed, args=(models[1], place, monkeypatch))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    mixed = paddle.read(place)
    assert all(np.array_equal(mixed.tensors[name], array) for name, array in whole.tensors.items())
    assert mixed.optimizer is None and "m.pdopt was left out: it belongs to other weights" in mixed.notes[0]
    tmb.port(models[1], place, to="paddle", force=True)
    assert paddle.read(place).optimizer["step"] == 2
    assert sorted(os.listdir(place.parent)) == ["m.pdopt", "m.pdparams", "m.pdparams.config.json"]


def make_node(path):
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


@pytest.mark.parametrize("make", [make_node, os.mkfifo, make_socket])
def test_only_files_and_folders_are_replaced(models, tmp_path, unproven, make):
    out = tmp_path / "out"
    out.mkdir()
    try:
        make(out / "special")
    except PermissionError:
        pytest.skip("device nodes cannot be made here")
    (out / "link").symlink_to("special")
    make(out / "m.pdopt")
    before = {path.name: path.lstat().st_mode for path in out.iterdir()}
    for name, to in (("special", "npz"), ("link", "npz"), ("special", "canonical"), ("link", "canonical"), ("m", "paddle")):
        with pytest.raises(PortError, match="must be a file or a folder, got a device, a pipe or a socket"):
            tmb.port(models[0], out / name, to=to, force=True)
    assert {path.name: path.lstat().st_mode for path in out.iterdir()} == before


def test_a_link_as_destination_is_followed(models, tmp_path, unproven):
    """As cp does; one that leads nowhere is not."""
    (tmp_path / "real").mkdir()
    (tmp_path / "m.pdparams").symlink_to(tmp_path / "real" / "model.pdparams")
    refused("got a link that leads nowhere", tmb.port, models[0], tmp_path / "m.pdparams", to="paddle", force=True)
    (tmp_path / "real" / "model.pdparams").write_text("old")
    refused("must be new", tmb.port, models[0], tmp_path / "m.pdparams", to="paddle")
    tmb.port(models[0], tmp_path / "m.pdparams", to="paddle", force=True)
    assert (tmp_path / "m.pdparams").is_symlink() and not (tmp_path / "m.pdopt").exists()
    assert paddle.read(tmp_path / "real" / "model.pdparams").optimizer is not None


def fill(folder, kind):
    """A folder of a kind, by whoever writes it, without the proof."""
    folder.parent.mkdir(exist_ok=True)
    write_target(model_for(kind, 0), find_target(kind), folder, {})
    return folder


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filled")
    return {kind: fill(folder / kind, kind) for kind in FOLDERS}


def test_each_kind_knows_the_names_that_it_writes(filled):
    for kind, folder in filled.items():
        assert kind_of(folder) is ROWS[kind]
        unknown = [name for name in os.listdir(folder) if not any(fnmatchcase(name, one) for one in ROWS[kind].files)]
        assert not unknown, kind


@pytest.mark.parametrize("to", FOLDERS)
def test_a_folder_of_another_kind_is_not_replaced(filled, tmp_path, to):
    for kind, folder in filled.items():
        if kind == to:
            continue
        place = tmp_path / kind
        shutil.copytree(folder, place)
        (place / "README.md").write_text("mine")
        before = content(tmp_path)
        source = source_for(to, 1, tmp_path.parent / f"{tmp_path.name}source")
        refused(f"{kind} must hold a .*, got a .*: not even force replaces that", tmb.port, source, place, to=to, force=True)
        assert content(tmp_path) == before


def test_a_folder_of_other_things_is_not_replaced(models, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("mine")
    with pytest.raises(PortError, match=r"got something else \(diary.txt\): not even force"):
        tmb.port(models[0], tmp_path / "notes", to="canonical", force=True)
    assert os.listdir(tmp_path / "notes") == ["diary.txt"]


def test_a_folder_under_the_name_of_a_file_is_refused_before_anything_changes(models, tmp_path):
    place = tmp_path / "out"
    shutil.copytree(models[0], place)
    (place / "trainer.json").unlink()
    (place / "trainer.json").mkdir()
    (place / "trainer.json" / "mine").write_text("mine")
    before = content(tmp_path)
    with pytest.raises(PortError, match="trainer.json in it must be a file, but it is not: move it away"):
        tmb.port(models[1], place, to="canonical", force=True)
    assert content(tmp_path) == before
    shutil.rmtree(place / "trainer.json")
    tmb.port(models[1], place, to="canonical", force=True)
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("kind", FOLDERS)
def test_nothing_stale_stays_that_the_new_model_could_take_for_its_own(filled, tmp_path, unproven, kind):
    """Whatever a reader of that kind looks for, beside what is nobody's."""
    stale = {
        "canonical": FILES,
        "marian": (
            "vocab.json",
            "target_vocab.json",
            "source.spm",
            "generation_config.json",
            "pytorch_model.bin",
            "tokenizer.json",
        ),
        "bert": ("vocab.txt", "tokenizer.json", "model-00001-of-00002.safetensors", "model.safetensors.index.json"),
        "onnx": ("encoder.onnx", "encoder.onnx.data", "decoder.onnx.data", "source_vocabulary.json"),
        "ctranslate2": ("shared_vocabulary.json", "shared_vocabulary.txt", "source_vocabulary.txt", "vmap.txt"),
    }[kind]
    place, source = tmp_path / "out", source_for(kind, 1, tmp_path / "source")
    shutil.copytree(filled[kind], place)
    for name in stale:
        if not (place / name).exists():
            (place / name).write_text("{}")
    (place / "README.md").write_text("mine")
    (place / "logs").mkdir()
    (place / "logs" / "train.log").write_text("mine")
    port_module.port(source, place, to=kind, force=True)
    fresh = fill(tmp_path / "fresh" / kind, kind)
    assert set(os.listdir(place)) == {*os.listdir(fresh), "README.md", "logs"}
    assert (place / "logs" / "train.log").read_text() == "mine" and (place / "README.md").read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["fresh", "out", "source"]


def test_a_configuration_beside_two_containers_is_written_once(tmp_path):
    """A companion that is there already with the same content is no obstacle; with another it is."""
    for name, text in (("model.pt", "same"), ("model.npz", "same"), ("model.params", "other")):
        stage = tmp_path / f"stage{name}"
        stage.mkdir()
        (stage / name).write_text(name)
        (stage / "model.config.json").write_text(text)
        if text == "other":
            refused("model.config.json must be new", Output(tmp_path / name, find_target("npz")).put_in_place, stage)
        else:
            Output(tmp_path / name, find_target("npz")).put_in_place(stage)
        shutil.rmtree(stage)
    assert sorted(os.listdir(tmp_path)) == ["model.config.json", "model.npz", "model.pt"]
