"""save and load with a native model: its backend, that it comes back as it was, and what it may replace."""

from __future__ import annotations

import os

import numpy as np
import pytest

import transformer_mb as tmb
from trainings import TINY, contents
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.config import TransformerConfig
from transformer_mb.data import Vocabulary
from transformer_mb.errors import BackendError, CheckpointError, ConfigError, DataError, DtypeError
from transformer_mb.registry import backend_of
from transformer_mb.training import Progress

CONFIG = TransformerConfig(
    source_vocab_size=9, target_vocab_size=9, num_hiddens=8, ffn_num_hiddens=8, share_embeddings=True, tie_output=True
)
SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "max_len": 7}


@pytest.fixture
def backend():
    return tmb.get_backend("numpy", dtype="float64")


@pytest.fixture
def model(backend):
    return backend.build(CONFIG, seed=5)


def test_a_model_comes_back_as_it_was(backend, model, tmp_path):
    tmb.save(model, tmp_path / "model")
    for found in (tmb.load(tmp_path / "model", backend), tmb.load(tmp_path / "model", "numpy", dtype="float64")):
        assert found.config == CONFIG
        expected = backend.get_weights(model)
        weights = backend.get_weights(found)
        assert set(weights) == set(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(weights[name], value)
    narrow = tmb.get_backend("numpy").get_weights(tmb.load(tmp_path / "model"))
    assert {value.dtype for value in narrow.values()} == {np.dtype("float32")}


def test_shared_and_tied_tensors_are_stored_once(model, tmp_path):
    tmb.save(model, tmp_path / "model")
    names = set(read_checkpoint(tmp_path / "model").weights)
    assert "encoder.embedding.weight" in names
    assert not names & {"decoder.embedding.weight", "decoder.dense.weight"}


def test_the_environment_chooses_the_backend(model, tmp_path, monkeypatch):
    tmb.save(model, tmp_path / "model")
    monkeypatch.setenv("TRANSFORMER_MB_BACKEND", "no_such_backend")
    with pytest.raises(BackendError, match="got 'no_such_backend'"):
        tmb.load(tmp_path / "model")


def test_the_optimizers_state_comes_with_the_trainer(backend, model, tmp_path):
    trainer = backend.trainer(model, optimizer="adam", learning_rate=0.01)
    trainer.update({name: np.ones_like(value) for name, value in backend.get_weights(model).items()})
    tmb.save(model, tmp_path / "model", trainer=trainer, progress={"epoch": 1})
    found = read_checkpoint(tmp_path / "model")
    assert found.trainer == {"epoch": 1} and found.optimizer["step"] == 1
    # Kingma & Ba, Algorithm 1: m = (1 - 0.9) * 1 and v = (1 - 0.999) * 1 after the first step.
    np.testing.assert_allclose(found.optimizer["m.encoder.embedding.weight"], 0.1, rtol=1e-12)
    np.testing.assert_allclose(found.optimizer["v.encoder.embedding.weight"], 0.001, rtol=1e-12)
    again = backend.trainer(tmb.load(tmp_path / "model", backend), optimizer="adam")
    again.load_state_dict(found.optimizer)
    assert again.step_count == 1


def test_a_subclass_of_a_native_model_is_still_its_backends(backend, model):
    mine = type("Mine", (type(model),), {})
    assert type(backend_of(model)) is type(backend)
    assert type(backend_of(mine.__new__(mine))) is type(backend)


def test_what_is_no_model_is_refused(tmp_path):
    class Wrapper:
        config = CONFIG

    with pytest.raises(BackendError, match=r"one that a backend made \(numpy, .*got .*Wrapper"):
        tmb.save(Wrapper(), tmp_path / "model")
    with pytest.raises(ConfigError, match="must have the config it was built from, but this int has none"):
        tmb.save(3, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_backend_object_has_its_own_device_and_dtype(backend, tmp_path):
    with pytest.raises(ConfigError, match="only with a backend's name"):
        tmb.load(tmp_path, backend, dtype="float32")
    with pytest.raises(DtypeError, match="must be one of"):
        tmb.load(tmp_path, "numpy", dtype="int8")
    with pytest.raises(CheckpointError, match=r"config\.json is missing"):
        tmb.load(tmp_path, backend)


@pytest.mark.parametrize("wrong", [None, 3, b"model"], ids=str)
def test_a_folder_is_a_path(model, wrong):
    for call in (tmb.Translator.load, tmb.load, lambda folder: tmb.save(model, folder)):
        with pytest.raises(ConfigError, match=rf"The folder of a checkpoint must be a path, got {wrong!r}\."):
            call(wrong)


def test_the_empty_name_is_no_folder(model):
    for call in (tmb.load, lambda folder: tmb.save(model, folder)):
        with pytest.raises(ConfigError, match="The folder of a checkpoint must be a path, got ''"):
            call("")


def test_vocabularies_to_save_are_two(backend, tmp_path):
    vocabulary = tmb.Vocabulary(["<unk>", "<pad>", "<bos>", "<eos>", *"abcdef"])
    model = backend.build(tmb.presets.d2l(10, 10, **SMALL))
    for wrong in (vocabulary, (vocabulary,), ("source.json", "target.json"), ()):
        with pytest.raises(ConfigError, match=r"vocabularies must be two, \(source, target\), got"):
            tmb.save(model, tmp_path / "model", vocabularies=wrong)
    tmb.save(model, tmp_path / "model", vocabularies=[vocabulary, vocabulary])
    assert tmb.Translator.load(tmp_path / "model").target_vocabulary == vocabulary


# A save or a training replaces no checkpoint that holds more, unless it is told to.

ONE_LAYER = {"num_hiddens": 8, "ffn_num_hiddens": 8, "encoder_num_layers": 1, "decoder_num_layers": 1}


def test_saving_a_model_loses_no_vocabularies_and_no_training(checkpoint):
    model, before = tmb.load(checkpoint, backend="numpy"), contents(checkpoint)
    with pytest.raises(CheckpointError, match=r"with vocabularies and the state of its training, which would be lost: nothing"):
        tmb.save(model, checkpoint)
    assert contents(checkpoint) == before
    for name in ("optimizer.safetensors", "trainer.json"):
        (checkpoint / name).unlink()
    with pytest.raises(CheckpointError, match=r"holds a checkpoint with vocabularies, which would be lost"):
        tmb.save(model, checkpoint)
    tmb.save(model, checkpoint, force=True)
    assert sorted(contents(checkpoint)) == ["config.json", "model.safetensors"]
    tmb.save(model, checkpoint)  # the same kinds again


def test_what_adds_to_a_checkpoint_needs_no_force(tmp_path):
    """A bare model over a bare model, and one with vocabularies over it, need no force."""
    model = tmb.get_backend("numpy").build(tmb.presets.d2l(4, 4, **ONE_LAYER))
    vocabulary = Vocabulary.from_tokens([])
    tmb.save(model, tmp_path / "model")
    tmb.save(model, tmp_path / "model", vocabularies=(vocabulary, vocabulary))
    tmb.save(model, tmp_path / "model", vocabularies=(vocabulary, vocabulary))


def test_a_training_is_not_replaced_by_another_in_python(checkpoint):
    before = contents(checkpoint)
    words = r"holds a checkpoint already: resume=True \(--resume\) continues it, force=True \(--force\) replaces"
    with pytest.raises(CheckpointError, match=words):
        tmb.train([("a", "b")], checkpoint, epochs=1, backend="numpy", **ONE_LAYER)
    assert contents(checkpoint) == before
    tmb.train([("a", "b")], checkpoint, epochs=1, backend="numpy", force=True, **ONE_LAYER)
    assert contents(checkpoint) != before


@pytest.mark.parametrize("resume", [False, "auto"])
def test_of_two_trainings_that_begin_together_the_later_one_replaces_nothing(tmp_path, resume, monkeypatch):
    """Both have found a folder without a checkpoint, on a file system without locks: the second to save looks again."""
    monkeypatch.setattr("transformer_mb.files.locks._attempt", lambda path, held: ("", False))
    folder, kept = tmp_path / "model", {}
    options = {"epochs": 2, "save_every": 1, "backend": "numpy", **ONE_LAYER}

    class Meanwhile(Progress):
        def epoch(self, record):
            if not kept:
                tmb.train([("a", "b")], folder, **options)
                kept.update(contents(folder))

    with pytest.raises(CheckpointError, match="another training has written there meanwhile: it stays as it is") as raised:
        tmb.train([("a", "b")], folder, resume=resume, progress=Meanwhile(), **options)
    assert str(folder) in str(raised.value) and contents(folder) == kept and os.listdir(tmp_path) == ["model"]


# A training that goes on when its corpus has another place.

PAIRS = [("go .", "va !"), ("hi .", "salut !")] * 4


@pytest.mark.parametrize("moved", ["data", "validation"])
def test_the_new_place_is_asked_for_and_taken(tmp_path, moved):
    files = {name: tmp_path / f"{name}.tsv" for name in ("data", "validation")}
    for file in files.values():
        file.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    tmb.train(files["data"], tmp_path / "model", validation=files["validation"], epochs=1, **TINY)
    now = files[moved].rename(tmp_path / "elsewhere.tsv")
    with pytest.raises(DataError, match=rf"no file .*{moved}.tsv, which this training began with: {moved} \(--{moved}\)"):
        tmb.train(None, tmp_path / "model", resume=True, epochs=2)
    assert tmb.train(**{"data": None, moved: now}, folder=tmp_path / "model", resume=True, epochs=2).state.epoch == 2


def test_pairs_take_the_place_of_a_file_that_has_gone(tmp_path):
    (tmp_path / "data.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    tmb.train(tmp_path / "data.tsv", tmp_path / "model", epochs=1, **TINY)
    (tmp_path / "data.tsv").unlink()
    assert tmb.train(PAIRS, tmp_path / "model", resume=True, epochs=2).state.epoch == 2
