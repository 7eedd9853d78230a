"""The epoch whose loss of other pairs is lowest: measured, kept, stopped after, and the same after a resume."""

import math

import numpy as np
import pytest

import transformer_mb as tmb
from interrupting import InterruptAt
from transformer_mb.data import demo_pairs
from transformer_mb.errors import CheckpointError, ConfigError, DataError
from transformer_mb.training import TrainingInterrupted

TRAINED_ON, UNSEEN = demo_pairs()[0][:24], demo_pairs()[1][:10]
TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 8, "backend": "numpy"}


def train(*arguments, **options):
    return tmb.train(TRAINED_ON, *arguments, **{**TINY, "learning_rate": 0.02, **options})


def diverging(**options):
    """With this seed the loss of other pairs is lowest amid the training, by more than rounding moves it."""
    return {"validation": UNSEEN, "dropout": 0.1, "seed": 2, **options}


def files(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "trainer.json"}


def measured(trained) -> list[tuple]:
    return [(record.loss, record.validation_loss) for record in trained.history]


def test_validation_is_cross_entropy_per_token_and_perplexity_its_exponential():
    """Against log-probabilities taken from the logits, sentence by sentence; dropout and smoothing have no part in it."""
    trained = train(epochs=1, validation=UNSEEN, dropout=0.4, label_smoothing=0.2)
    translator, total, tokens = trained.translator, 0.0, 0
    for source, target in UNSEEN:
        config, ids = trained.model.config, [*translator.target_vocabulary.encode(target), 3]
        sources = [[*translator.source_vocabulary.encode(source), 3]]
        logits = translator.backend.logits(trained.model, sources, [[config.start_id, *ids[:-1]]])[0].astype(float)
        total -= sum(row[token] - math.log(np.exp(row).sum()) for row, token in zip(logits, ids, strict=True))
        tokens += len(ids)
    assert trained.best.validation_loss == pytest.approx(total / tokens, rel=1e-5)
    assert trained.best.perplexity == pytest.approx(math.exp(total / tokens), rel=1e-4)


def test_the_best_model_is_kept_and_early_stopping_ends(tmp_path):
    trained = train(tmp_path / "model", epochs=40, early_stopping=4, **diverging())
    losses = [record.validation_loss for record in trained.history]
    best = losses.index(min(losses)) + 1
    assert trained.best.epoch == best == len(losses) - 4 < 36
    alone = train(epochs=best, **diverging())
    for other in (trained.model, tmb.load(tmp_path / "model", backend="numpy")):
        weights = trained.translator.backend.get_weights(other)
        for name, value in alone.translator.backend.get_weights(alone.model).items():
            np.testing.assert_array_equal(weights[name], value)
    last = train(tmp_path / "last", epochs=len(losses), keep="last", **diverging())
    assert files(tmp_path / "last")["model.safetensors"] == files(tmp_path / "model")["last.safetensors"]
    assert last.best.epoch == best and "last.safetensors" not in files(tmp_path / "last")


@pytest.mark.parametrize("stop", [2, 7, 20, 33])
def test_with_validation_a_resume_is_bit_for_bit_the_whole(tmp_path, stop):
    """Stopped amid the first epoch, before and after the best one, and between two; three steps an epoch."""
    whole = train(tmp_path / "whole", epochs=12, **diverging())
    assert 3 < whole.best.epoch < 7
    with pytest.raises(TrainingInterrupted):
        train(tmp_path / "parts", epochs=12, progress=InterruptAt(stop), **diverging())
    assert ("last.safetensors" in files(tmp_path / "parts")) == (stop > 3)
    parts = tmb.train(TRAINED_ON, tmp_path / "parts", resume=True, validation=UNSEEN)
    assert files(tmp_path / "parts") == files(tmp_path / "whole") and measured(parts) == measured(whole)


def test_early_stopping_and_resumes_need_the_same_validation_pairs(tmp_path):
    with pytest.raises(ConfigError, match="early_stopping needs pairs that are measured"):
        train(epochs=1, early_stopping=2)
    with pytest.raises(ConfigError, match="needs compat_decode = correct"):
        train(epochs=1, validation=UNSEEN, compat_decode="d2l")
    train(tmp_path / "model", epochs=12, **diverging())
    with pytest.raises(DataError, match="resumed with the validation pairs it began with, got others"):
        train(tmp_path / "model", epochs=13, resume=True, **diverging(validation=UNSEEN[:5]))
    (tmp_path / "model" / "last.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"last\.safetensors is missing"):
        train(tmp_path / "model", epochs=13, resume=True, **diverging())
