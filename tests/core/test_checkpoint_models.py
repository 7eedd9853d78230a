"""save and load with a native model: which backend it belongs to, and that it comes back as it was."""

from __future__ import annotations

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import BackendError, CheckpointError, ConfigError, DtypeError
from transformer_mb.registry import backend_of

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
