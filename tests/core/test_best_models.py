"""The models that a training keeps: the one of lowest validation loss, the first of equals, and means of weights."""

import json
import math
import warnings

import numpy as np
import pytest
from safetensors.numpy import load_file

import trainings
import transformer_mb as tmb
from trainings import TEST, TINY, TRAINED_ON, UNSEEN, InterruptAt, files
from transformer_mb.errors import CheckpointError, ConfigError, DataError
from transformer_mb.training import TrainingInterrupted, TrainingState
from transformer_mb.training.records import ValidationRecord, decided_by, without_bleu


def train(*arguments, **options):
    return trainings.train(*arguments, **{"learning_rate": 0.02, **options})


def diverging(**options):
    """With this seed the loss of other pairs is lowest amid the training, by more than rounding moves it."""
    return {"validation": TEST, "dropout": 0.1, "seed": 2, **options}


def measured(trained) -> list[tuple]:
    return [(record.loss, record.validation_loss) for record in trained.history]


def test_validation_is_cross_entropy_per_token_and_perplexity_its_exponential():
    """Against log-probabilities taken from the logits, sentence by sentence; dropout and smoothing have no part in it."""
    trained = train(epochs=1, validation=TEST, dropout=0.4, label_smoothing=0.2)
    translator, total, tokens = trained.translator, 0.0, 0
    for source, target in TEST:
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
    parts = tmb.train(TRAINED_ON, tmp_path / "parts", resume=True, validation=TEST)
    assert files(tmp_path / "parts") == files(tmp_path / "whole") and measured(parts) == measured(whole)


def test_early_stopping_and_resumes_need_the_same_validation_pairs(tmp_path):
    with pytest.raises(ConfigError, match="early_stopping needs pairs that are measured"):
        train(epochs=1, early_stopping=2)
    with pytest.raises(ConfigError, match="needs compat_decode = correct"):
        train(epochs=1, validation=TEST, compat_decode="d2l")
    train(tmp_path / "model", epochs=12, **diverging())
    with pytest.raises(DataError, match="resumed with the validation pairs it began with, got others"):
        train(tmp_path / "model", epochs=13, resume=True, **diverging(validation=TEST[:5]))
    (tmp_path / "model" / "last.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"last\.safetensors is missing"):
        train(tmp_path / "model", epochs=13, resume=True, **diverging())


# Rank validations that the metric cannot tell apart: the best one, when to stop, and the sentence about it.


def state(metric: str, *figures: tuple[float, float, float]) -> TrainingState:
    """Make one validation per step from (loss, BLEU, chrF)."""
    records = [ValidationRecord(step, step, *three) for step, three in enumerate(figures, start=1)]
    return TrainingState(step=len(records), validations=records, validation_metric=metric)


@pytest.mark.parametrize(
    ("metric", "figures", "best", "words"),
    [
        ("bleu", ((4.9, 0.0, 1.89), (3.8, 0.0, 7.4), (3.6, 0.0, 9.03)), 3, "of 3 with this BLEU the best by chrF"),
        ("bleu", ((4.9, 0.0, 9.0), (3.8, 0.0, 9.0), (3.9, 0.0, 9.0)), 2, "of 3 with this BLEU the best by the loss"),
        ("bleu", ((4.9, 0.001, 2.0), (3.8, 0.002, 1.0)), 1, "of 2 with this BLEU the best by chrF"),  # both print 0.00
        ("bleu", ((4.9, 1.0, 9.0), (3.8, 0.5, 10.0)), 1, ""),
        ("chrf", ((4.9, 0.0, 9.0), (3.8, 0.0, 9.0)), 2, "of 2 with this chrF the best by the loss"),
        ("loss", ((3.8, 0.0, 9.0), (3.8, 0.0, 8.0)), 1, "of 2 with this loss the best by chrF"),
        ("loss", ((3.8, 0.0, 9.0), (3.8, 0.0, 9.0), (4.0, 1.0, 9.0)), 2, "of 2 that are alike the latest"),
    ],
)
def test_equals_are_told_apart_by_the_other_figures(metric, figures, best, words):
    found = state(metric, *figures)
    assert found.best.step == best and decided_by(found.validations, metric) == words


def test_a_training_that_gets_better_is_not_stopped_by_zeros():
    rising = state("bleu", (4.9, 0.0, 1.9), (4.2, 0.0, 4.0), (3.8, 0.0, 7.4), (3.6, 0.0, 9.0))
    assert not rising.is_stopped_early(1)
    falling = state("bleu", (3.6, 0.0, 9.0), (3.8, 0.0, 7.4), (4.2, 0.0, 4.0), (4.9, 0.0, 1.9))
    assert falling.is_stopped_early(3) and not falling.is_stopped_early(4)


def test_what_is_alike_in_everything_is_no_new_best():
    """The latest is kept; a training that stands still stops all the same."""
    still = state("bleu", *[(3.0, 0.0, 9.0)] * 4)
    assert still.best.step == 4 and still.is_stopped_early(3) and not still.is_stopped_early(4)


def test_an_older_checkpoint_goes_on_with_the_first_of_equals(tmp_path):
    """Its weights are those of that validation."""
    found = state("bleu", (4.9, 0.0, 1.89), (3.8, 0.0, 7.4))
    fields = found.to_dict()
    assert TrainingState.from_dict(json.loads(json.dumps(fields))).best.step == 2
    del fields["ties"], fields["closing"], fields["lowered"]
    older = TrainingState.from_dict(fields)
    assert older.best.step == 1 and older.is_stopped_early(1)
    assert TrainingState.from_dict(older.to_dict()).best.step == 1


def test_bleu_that_never_counted_anything_is_said():
    zeros = state("bleu", (4.9, 0.0, 1.9), (4.2, 0.004, 4.0)).validations
    assert "all 2 validations have 0.00" in without_bleu(zeros, "bleu", "intl")
    assert "the only validation has 0.00" in (words := without_bleu(zeros[:1], "bleu", "intl")) and "other than intl" in words
    assert not without_bleu(zeros, "chrf", "intl") and not without_bleu([], "bleu", "intl")
    assert not without_bleu([*zeros, ValidationRecord(3, 3, 4.0, 0.01, 5.0)], "bleu", "intl")
    options = {**TINY, "epochs": 1, "validation": [("he is tired .", "xx xy .")], "learning_rate": 1e-5}
    with pytest.warns(UserWarning, match=r"BLEU decided nothing: the only validation has 0\.00"):
        tmb.train(TRAINED_ON, **options, validation_metric="bleu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tmb.train(TRAINED_ON, **options, validation_metric="chrf")


@pytest.mark.parametrize(("every", "steps"), [(2, [2, 4, 6]), (4, [4, 6]), (99, [6])])
def test_the_last_step_is_measured(every, steps):
    """Six of them, three an epoch; an interval longer than the training measures its end alone."""
    trained = tmb.train(TRAINED_ON, epochs=2, validation=TEST, validate_every_steps=every, learning_rate=0.02, **TINY)
    assert [record.step for record in trained.validations] == steps
    assert trained.state.closing == [step for step in steps if step % every]
    whole = tmb.train(TRAINED_ON, epochs=2, validation=TEST, learning_rate=0.02, **TINY)
    assert trained.validations[-1].validation_loss == whole.validations[-1].validation_loss


def test_a_training_that_goes_on_waits_as_if_it_had_not_ended(tmp_path):
    """The validation at the end counts for what is kept, and not for how long none was better."""
    options = {"validation": TEST, "validate_every_steps": 4, "learning_rate": 0.02, "keep": "last", **TINY}
    whole = tmb.train(TRAINED_ON, tmp_path / "whole", epochs=4, **options)
    tmb.train(TRAINED_ON, tmp_path / "parts", epochs=2, **options)
    parts = tmb.train(TRAINED_ON, tmp_path / "parts", epochs=4, resume=True, **options)
    assert [record.step for record in whole.validations] == [4, 8, 12]
    assert [record.step for record in parts.validations] == [4, 6, 8, 12] and parts.state.closing == [6]
    assert parts.state.waited() == whole.state.waited()
    assert [one for one in parts.validations if one.step != 6] == whole.validations
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


# The mean of weights: of those that a training kept, and of several folders.

OPTIONS = {"epochs": 6, "validate_every_steps": 2, "validation_metric": "chrf", "validation_lines": 6, "dropout": 0.1,
           "keep_best": 3}  # fmt: skip
WIDER = {**TINY, "num_hiddens": 16, "ffn_num_hiddens": 16, "learning_rate": 0.02}


def mean_by_hand(*paths) -> dict[str, np.ndarray]:
    tensors = [load_file(path) for path in paths]
    return {name: np.float32(sum(np.float64(one[name]) for one in tensors) / len(tensors)) for name in tensors[0]}


def train_measured(*arguments, **options):
    return trainings.train(*arguments, **{**WIDER, "validation": UNSEEN, **options})


def test_the_mean_of_what_was_kept(tmp_path, cli, fails):
    trained = train_measured(tmp_path / "model", **OPTIONS)
    steps = sorted(record.step for record in trained.state.ranked[:3])
    paths = [tmp_path / "model" / f"kept-{step}.safetensors" for step in steps]
    outcome = cli("average", tmp_path / "model", "--out", tmp_path / "mean")
    assert outcome.status == 0 and outcome.out.splitlines() == [
        f"the mean of 3: {', '.join(map(str, paths))}",
        f"saved in {tmp_path / 'mean'}",
    ]
    expected = mean_by_hand(*paths)
    found = load_file(tmp_path / "mean" / "model.safetensors")
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == np.float32
        np.testing.assert_array_equal(found[name], array)
    assert sorted(files(tmp_path / "mean")) == [
        "config.json", "model.safetensors", "source_vocabulary.json", "target_vocabulary.json",
    ]  # fmt: skip
    assert isinstance(tmb.Translator.load(tmp_path / "mean", "numpy").translate("he is tired ."), str)
    assert tmb.average(tmp_path / "model", tmp_path / "two", last=2) == [str(path) for path in paths[1:]]
    two = load_file(tmp_path / "two" / "model.safetensors")
    assert all(np.array_equal(two[name], array) for name, array in mean_by_hand(*paths[1:]).items())
    out = ("--out", tmp_path / "three")
    assert "last must be from 1 to 3, the number of weights" in fails("average", tmp_path / "model", "--last", 4, *out)
    assert "it keeps none beside its model: train with keep_best = N" in fails("average", tmp_path / "mean", *out)
    assert "holds a checkpoint already" in fails("average", tmp_path / "model", "--out", tmp_path / "two")
    assert "which is one of those it is taken of" in fails(
        "average", tmp_path / "model", "--out", tmp_path / "model", "--force"
    )


def test_the_mean_of_several_folders(tmp_path, fails):
    folders = [train_measured(tmp_path / f"seed-{seed}", seed=seed, epochs=1).folder for seed in range(3)]
    tmb.average(folders, tmp_path / "mean")
    found = load_file(tmp_path / "mean" / "model.safetensors")
    for name, array in mean_by_hand(*(folder / "model.safetensors" for folder in folders)).items():
        np.testing.assert_array_equal(found[name], array)
    with pytest.raises(ConfigError, match="last must be left out where several folders are named, got 2"):
        tmb.average(folders, tmp_path / "other", last=2)
    train_measured(tmp_path / "wider", epochs=1, ffn_num_hiddens=20)
    message = fails("average", *folders, tmp_path / "wider", "--out", tmp_path / "other")
    assert "the same configuration, but ffn_num_hiddens is 16 in" in message and "and 20 in" in message
    for word in "xy":  # vocabularies of one size
        pairs = [(f"{source} {word}", target) for source, target in TRAINED_ON]
        tmb.train(pairs, tmp_path / word, epochs=1, **WIDER)
    message = fails("average", tmp_path / "x", tmp_path / "y", "--out", tmp_path / "other")
    assert "All checkpoints must have the same source_vocabulary.json, but those of" in message
    assert not (tmp_path / "other").exists()
    with pytest.raises(ConfigError, match="at least one checkpoint folder, got none"):
        tmb.average([], tmp_path / "other")
