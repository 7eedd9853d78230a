"""Rank validations that the metric cannot tell apart: the best one, when to stop, and the sentence about it."""

import json
import warnings

import pytest

import transformer_mb as tmb
from transformer_mb.data import demo_pairs
from transformer_mb.training import TrainingState
from transformer_mb.training.ranking import decided_by, without_bleu
from transformer_mb.training.records import ValidationRecord

TRAINED_ON, UNSEEN = demo_pairs()[0][:24], demo_pairs()[1][:10]
TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 8, "backend": "numpy"}


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
    trained = tmb.train(TRAINED_ON, epochs=2, validation=UNSEEN, validate_every_steps=every, learning_rate=0.02, **TINY)
    assert [record.step for record in trained.validations] == steps
    assert trained.state.closing == [step for step in steps if step % every]
    whole = tmb.train(TRAINED_ON, epochs=2, validation=UNSEEN, learning_rate=0.02, **TINY)
    assert trained.validations[-1].validation_loss == whole.validations[-1].validation_loss


def test_a_training_that_goes_on_waits_as_if_it_had_not_ended(tmp_path):
    """The validation at the end counts for what is kept, and not for how long none was better."""
    options = {"validation": UNSEEN, "validate_every_steps": 4, "learning_rate": 0.02, "keep": "last", **TINY}
    whole = tmb.train(TRAINED_ON, tmp_path / "whole", epochs=4, **options)
    tmb.train(TRAINED_ON, tmp_path / "parts", epochs=2, **options)
    parts = tmb.train(TRAINED_ON, tmp_path / "parts", epochs=4, resume=True, **options)
    assert [record.step for record in whole.validations] == [4, 8, 12]
    assert [record.step for record in parts.validations] == [4, 6, 8, 12] and parts.state.closing == [6]
    assert parts.state.waited() == whole.state.waited()
    assert [one for one in parts.validations if one.step != 6] == whole.validations
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
