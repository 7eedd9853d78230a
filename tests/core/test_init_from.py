"""A training that begins from the model of another one: on other pairs, with a new optimizer."""

import json

import numpy as np
import pytest

import transformer_mb as tmb
from trainings import TINY, TRAINED_ON, InterruptAt
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.data import demo_pairs
from transformer_mb.errors import CheckpointError, ConfigError
from transformer_mb.training import TrainingInterrupted

OTHERS = demo_pairs()[0][100:124]
OPTIONS = {"backend": "numpy", "batch_size": 8, "learning_rate": 0.02}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base") / "model"
    tmb.train(TRAINED_ON, folder, **{**TINY, **OPTIONS}, epochs=4, dropout=0.1)
    return folder


def test_the_first_step_is_that_of_a_new_optimizer_on_the_models_weights(base, tmp_path):
    """Against the same step taken by hand."""
    trained = tmb.train(OTHERS, tmp_path / "fine", init_from=base, max_steps=1, dropout=0.0, **OPTIONS)
    found, before = read_checkpoint(tmp_path / "fine"), read_checkpoint(base)
    assert found.source_vocabulary == before.source_vocabulary and found.target_vocabulary == before.target_vocabulary
    assert found.config == before.config.replace(dropout=0.0) and found.optimizer["step"] == 1
    backend = tmb.get_backend("numpy")
    model = backend.create_empty(found.config)
    backend.set_weights(model, before.weights)
    trainer = backend.trainer(model, learning_rate=0.02, clip_norm=1.0, normalization="tokens")
    pairs = tmb.data.pair_ids(OTHERS, before.source_vocabulary, before.target_vocabulary)
    (batch, *_) = tmb.Batches(pairs, 8, 0, max_len=found.config.max_len, trimmed=True).epoch(0)
    loss = trainer.step(batch)
    assert trained.state.loss == pytest.approx(float(loss), rel=1e-6)
    for name, value in backend.get_weights(model).items():
        np.testing.assert_allclose(found.weights[name], value, rtol=1e-5, atol=1e-7)


def test_it_goes_on_bit_for_bit_and_by_the_same_line(base, tmp_path):
    whole, parts, line = tmp_path / "whole", tmp_path / "parts", {"init_from": base, "resume": "auto", **OPTIONS}
    tmb.train(OTHERS, whole, epochs=3, **line)
    with pytest.raises(TrainingInterrupted):
        tmb.train(OTHERS, parts, epochs=3, progress=InterruptAt(4), **line)
    tmb.train(OTHERS, parts, epochs=3, **line)
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (whole / name).read_bytes() == (parts / name).read_bytes()
    assert json.loads((whole / "trainer.json").read_text())["data"]["init_from"] == str(base)
    again = tmb.train(OTHERS, parts, epochs=4, resume=True)  # needs the folder no more
    assert again.state.step == 12


def test_what_is_no_model_to_begin_from(base, tmp_path, cli):
    with pytest.raises(ConfigError, match="take it as it is, but num_hiddens is 8, not 16"):
        tmb.train(OTHERS, init_from=base, num_hiddens=16, **OPTIONS)
    with pytest.raises(ConfigError, match="begins a new training, but resume continues one"):
        tmb.train(OTHERS, base, init_from=base, resume=True, **OPTIONS)
    with pytest.raises(ConfigError, match="must have its vocabularies, got another tokenizer"):
        tmb.train(OTHERS, init_from=base, tokenizer=(tmb.Vocabulary(["<unk>", "<pad>", "<bos>", "<eos>"]),) * 2, **OPTIONS)
    with pytest.raises(CheckpointError, match="must be a checkpoint folder, got nothing"):
        tmb.train(OTHERS, init_from=tmp_path / "nowhere", **OPTIONS)
    tmb.save(tmb.load(base, backend="numpy"), tmp_path / "alone")
    with pytest.raises(CheckpointError, match="with its vocabularies, but this one holds none"):
        tmb.train(OTHERS, init_from=tmp_path / "alone", **OPTIONS)


def test_what_differs_is_said(base, tmp_path, capsys):
    options = {**OPTIONS, "epochs": 1, "verbose": True, "init_from": base}
    tmb.train(OTHERS, tmp_path / "one", **{**options, "learning_rate": 0.01, "min_freq": 2})
    told = capsys.readouterr().out
    assert f"note: {base} was trained with learning_rate 0.02, epochs 4 and min_freq 1\n" in told
    assert "note: min_freq has no effect with the vocabularies of init_from\n" in told
    assert f"from the model of {base} with a new optimizer\n" in told and "on the same pairs" not in told
    tmb.train(TRAINED_ON, tmp_path / "two", **options, preset="d2l", num_steps=None, normalization="tokens")
    told = capsys.readouterr().out
    assert f"note: of preset d2l the recipe is taken, and the model is that of {base}\n" in told
    assert "was trained on the same pairs: --resume would go on with its optimizer too\n" in told
