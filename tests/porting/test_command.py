"""What a port says, refuses and writes."""

import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.data import encode_pairs
from transformer_mb.errors import PortError
from transformer_mb.files.tensors import read_tensors, write_tensors
from transformer_mb.porting.files.targets import find_target
from transformer_mb.porting.model import NativeFile, PortedModel
from transformer_mb.porting.proof.reference_runs.ctranslate2 import GREEDY, ONE_THREAD

SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 4, "decoder_num_heads": 4, "max_len": 20}
CONFIG = tmb.presets.d2l(11, 13, encoder_num_layers=1, decoder_num_layers=1, **SIZES)


@pytest.fixture
def small(tmp_path) -> Path:
    """A checkpoint without vocabularies."""
    tmb.save(tmb.get_backend("numpy").build(CONFIG, seed=0), tmp_path / "small")
    return tmp_path / "small"


def weights_of(small: Path) -> PortedModel:
    found = read_checkpoint(small)
    return PortedModel(config=found.config, weights=found.weights)


def our_own(model: PortedModel, format_name: str, path: Path) -> Path:
    """The file as our model of that framework saves itself: without any configuration."""
    from transformer_mb.porting.families import d2l
    from transformer_mb.porting.formats import FORMATS

    FORMATS[format_name].module.write(path, NativeFile(format=format_name, tensors=d2l.write(model, format_name, {}).tensors))
    return path


@pytest.mark.some(1)
@pytest.mark.parametrize(("format_name", "suffix"), [("keras", ".weights.h5"), ("flax", ".msgpack")])
def test_our_own_files_come_back_with_our_own_epsilon(small, tmp_path, format_name, suffix):
    path = our_own(weights_of(small), format_name, tmp_path / f"m{suffix}")
    report = tmb.port(path, tmp_path / "back", to="canonical", config={"num_heads": 4, "max_len": 20})
    assert report.origins["assumed"]["norm_eps"] == 1e-5
    assert tmb.load(tmp_path / "back").config == CONFIG
    assert "d2l" not in report.proof.source_ran


def test_every_container_of_d2l_classes_keeps_the_epsilon_of_its_framework(small, tmp_path):
    from transformer_mb.porting.families import d2l

    for format_name, epsilon in (("keras", 1e-3), ("flax", 1e-6), ("paddle", 1e-5), ("torch", 1e-5)):
        tensors = d2l.write(weights_of(small), format_name, {"block_names": "d2l"}).tensors
        got = d2l.read(NativeFile(format=format_name, tensors=tensors), {"num_heads": 4})
        assert got.config.norm_eps == epsilon, format_name
        assert all(np.array_equal(got.weights[name], array) for name, array in weights_of(small).weights.items())


def test_the_proof_says_what_it_holds_for(small, tmp_path, cli):
    np.savez(tmp_path / "bare.npz", **weights_of(small).weights)
    (tmp_path / "settings.json").write_text('{"num_heads": 8}')
    done = cli("port", tmp_path / "bare.npz", tmp_path / "out", "--to", "canonical", "--config", tmp_path / "settings.json")
    assert done.status == 0
    assert "proved for what is given, taken on trust: encoder_num_heads = 8, decoder_num_heads = 8" in done.out
    assert "proved for what is assumed, for nothing says otherwise" in done.out


def test_ctranslate2_ends_the_sources_itself(checkpoint, tmp_path, pairs):
    """The engine's own Translator is given the words as they are, and gives what ``translate`` gives."""
    import ctranslate2

    report = tmb.port(checkpoint, tmp_path / "engine", to="ctranslate2")
    assert report.holds and json.loads((tmp_path / "engine" / "config.json").read_text())["add_source_eos"] is True
    engine = ctranslate2.Translator(str(tmp_path / "engine"), **ONE_THREAD)
    found = read_checkpoint(checkpoint)
    sentences = [source.split() for source, _ in pairs[:8]]
    got = [one.hypotheses[0] for one in engine.translate_batch(sentences, max_decoding_length=12, **GREEDY)]
    backend = tmb.get_backend("numpy")
    batch = encode_pairs(pairs[:8], found.source_vocabulary, found.target_vocabulary, num_steps=12)
    tokens = backend.greedy(tmb.load(checkpoint), batch.source, batch.source_valid_lens, 12)
    assert got == [[found.target_vocabulary.entries[number] for number in row] for row in tokens] and any(got)


def test_without_vocabularies_ctranslate2_leaves_sources_as_they_are(small, tmp_path):
    tmb.port(small, tmp_path / "engine", to="ctranslate2")
    assert not json.loads((tmp_path / "engine" / "config.json").read_text()).get("add_source_eos")


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
    find_target(to).family.module.write(weights_of(small), tmp_path / "exported")
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


def test_errors_of_a_port_in_python_name_its_arguments(small, tmp_path):
    tmb.port(small, tmp_path / "m.npz", to="npz")
    for arguments, options, words in (
        (("y",), {"to": "nonesuch"}, "^to must be one of"),
        (("y",), {"to": "npz", "from_": "nonesuch"}, "^from must be one of"),
        (("m.npz",), {"to": "npz"}, r"is there already: nothing is written. Only force \(--force\) replaces it"),
    ):
        with pytest.raises(PortError, match=words):
            tmb.port(small, tmp_path / arguments[0], **options)


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


@pytest.mark.parametrize("to", ["marian", "torch_transformer", "onnx", "canonical"])
def test_names_for_blocks_are_refused_where_a_target_has_its_own(small, tmp_path, to):
    with pytest.raises(PortError, match="block_names is for a container of this project's own tensors"):
        tmb.port(small, tmp_path / "out", to=to, config={"block_names": "block{i}"})


def test_names_for_blocks_are_never_ignored(small, tmp_path):
    from transformer_mb.porting.families import d2l
    from transformer_mb.porting.formats import FORMATS

    model = weights_of(small)
    for format_name in (name for name, row in FORMATS.items() if row.writable):
        tensors = d2l.write(model, format_name, {"block_names": "block{i}"}).tensors
        assert any("block0" in name for name in tensors), format_name
        got = d2l.read(NativeFile(format=format_name, tensors=tensors), {"num_heads": 4})
        assert all(np.array_equal(got.weights[name], array) for name, array in model.weights.items())
    with pytest.raises(PortError, match="which can be read back, got 'storey{i}'"):
        tmb.port(small, tmp_path / "m.npz", to="npz", config={"block_names": "storey{i}"})
    with pytest.raises(PortError, match="keras_version is for keras, got it for npz"):
        tmb.port(small, tmp_path / "m.npz", to="npz", config={"keras_version": 2})


def test_other_names_of_blocks_are_not_said_to_be_ours(small, tmp_path):
    report = tmb.port(small, tmp_path / "m.pdparams", to="paddle", config={"block_names": "d2l"})
    assert "as the settings ask; ours are not" in report.loading.into and report.loading.lines == ()
