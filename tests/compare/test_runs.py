"""`transformer_mb.compare.runs`: planted differences are found and named, nothing else is; calls that cannot be are refused."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from compare.planted_runs import TRANSPOSED, runs_here
from transformer_mb.compare import runs
from transformer_mb.compare.training import attribution
from transformer_mb.compare.training.job import PreparedJob, TrainingJob, built_in_job, split_job
from transformer_mb.compare.training.runner import Asked, Run, Runner
from transformer_mb.compare.training.runs import compared
from transformer_mb.errors import ConfigError, DataError
from transformer_mb.initialization import initial_weights
from transformer_mb.registry import get_backend

# A model that learns some words in a hundred steps, within a second.
SMALL = replace(
    built_in_job(),
    held_out=built_in_job().held_out[:100],
    num_hiddens=32,
    num_layers=1,
    steps=100,
    batch_size=16,
    learning_rate=0.01,
)
SHORT = replace(SMALL, steps=30, warmup_steps=5)
HARMFUL = ("learning rate x1.3", "epsilon-hat of 1e-4", "no label smoothing", "transposed W_v")
SEEDS = range(7)


@pytest.fixture(scope="module")
def injected():
    columns = {f"numpy@{number}": name for number, name in enumerate(HARMFUL)}
    return runs_here(["torch", *columns], SEEDS, columns, job=SMALL)


def test_another_framework_is_the_same(injected):
    assert injected.verdict("torch") == "same"
    assert {line.verdict for line in injected.lines if line.column == "torch"} == {"same"}
    assert injected.columns == ["torch", "numpy@0", "numpy@1", "numpy@2", "numpy@3"]


@pytest.mark.parametrize("number", range(len(HARMFUL)), ids=HARMFUL.__getitem__)
def test_a_planted_difference_is_different(number, injected):
    assert injected.verdict(f"numpy@{number}") == "different"


def test_a_weight_that_is_transposed_after_the_training_shows_in_the_scores_alone(injected):
    verdicts = {line.metric: line.verdict for line in injected.lines if line.column == "numpy@3"}
    assert verdicts["token accuracy"] == "different"
    assert verdicts["final loss"] == verdicts["mean log loss"] == "same"


def test_what_a_run_costs(injected):
    for cost in injected.costs:
        assert cost.tokens_per_second > 0 and cost.decoded_per_second > 0 and cost.peak_memory > 2**20
        assert cost.first_step > 0 and cost.checkpoint == injected.costs[0].checkpoint > 50_000
    parts = {cost.column: cost.parts for cost in injected.costs}
    assert parts["numpy"] is None and parts["torch"] > 10 and parts["numpy@2"] == 1


def native(name, seeds=range(6)):
    return runs_here(["numpy@1"], seeds, {"numpy@1": name}, native=True, attribute=True, job=SHORT)


@pytest.mark.long
def test_attribution_names_a_planted_norm_epsilon():
    found = native("norm epsilon of 1e-1")
    assert found.named("numpy@1") == ["epsilon"]
    assert {effect.way for effect in found.effects if effect.moves} == {"added", "removed"}
    assert {effect.switch for effect in found.effects} == {"dropout", "epsilon"}  # NumPy has nothing else


def test_attribution_needs_every_state():
    assert [sorted(own) for own in attribution.states({"init": "none", "epsilon": "the same"})] == [
        ["dropout", "optimizer"],
        [],
        ["dropout"],
        ["optimizer"],
    ]
    assert len(attribution.states({})) == 10


def a_run(column, seed, own, loss):
    return Run(
        column=column,
        version="1",
        seed=seed,
        own=tuple(sorted(own)),
        losses=(float(np.exp(loss)),) * 20,
        token_accuracy=0.5,
        bleu=1.0,
        first_step=1.0,
        tokens_per_second=1.0,
        decoded_per_second=1.0,
        peak_memory=1,
        checkpoint=1,
        user_seconds=1.0,
    )


def made_up(effect):
    """A native comparison whose mean log losses are the seed's noise, and what ``effect`` gives for the own switches."""
    noise = np.random.default_rng(0).normal(size=(12, 2))
    states = attribution.states({})
    done = [a_run("numpy", seed, {"dropout"}, noise[seed, 0]) for seed in range(12)]
    done += [
        a_run("torch", seed, own, noise[seed, 0] + 0.1 * noise[seed, 1] * len(own) + effect(own))
        for own in states
        for seed in range(12)
    ]
    without = {"numpy": dict.fromkeys(("init", "optimizer", "epsilon"), "none"), "torch": {}}
    return compared(done, without, "numpy", range(12), True, True, 1.25, SMALL, 1.0)


def test_attribution_names_what_acts_alone_and_what_acts_in_company():
    alone = made_up(lambda own: 2.0 * ("optimizer" in own))
    assert alone.named("torch") == ["optimizer"]
    company = made_up(lambda own: 2.0 * ({"init", "epsilon"} <= own))
    assert sorted(company.named("torch")) == ["epsilon", "init"]
    assert {effect.way for effect in company.effects if effect.moves} == {"removed"}
    assert made_up(lambda own: 0.0).named("torch") == []


def test_a_loss_that_is_no_number_is_different_and_written_as_null():
    found = made_up(lambda own: np.nan if "init" in own else 0.0)
    assert found.verdict("torch") == "different" and "init" in found.named("torch")
    line = next(line for line in found.to_dict()["lines"] if line["metric"] == "final loss")
    assert line["mean"] is None and line["reason"] == "not a number in 12 of 12 runs"


def test_a_run_is_the_same_however_often_it_is_asked_for():
    """The kept trainer starts anew, with its moments and its step at 0."""
    runner = Runner(get_backend("torch"), "torch", PreparedJob(SHORT))
    first, other, again = (runner.run(Asked(seed)) for seed in (0, 1, 0))
    assert first.losses == again.losses != other.losses
    assert first.first_step is not None and again.first_step is None


def test_steps_and_parts():
    falling = a_run("torch", 0, (), 0.0)
    falling = replace(falling, losses=tuple(np.linspace(10.0, 0.5, 20)))
    assert falling.steps_to(20.0) == 10 and falling.steps_to(0.1) == 21
    assert falling.steps_to(float(np.mean(falling.losses[5:15]))) == 15
    assert falling.parts_from(falling) == 21
    assert falling.parts_from(replace(falling, losses=(*falling.losses[:7], 1e9, *falling.losses[8:]))) == 8
    assert falling.final_loss == pytest.approx(np.mean(falling.losses[-2:]))


def test_a_transposed_weight_is_one_of_the_model():
    rows, columns = initial_weights(PreparedJob(SMALL).config)[TRANSPOSED].shape
    assert rows == columns > 1


def test_a_files_pairs_are_learned_or_held_out():
    pairs = [(f"source {i // 2}", f"target {i}") for i in range(200)]
    job = split_job("file", pairs)
    assert len(job.held_out) == 10 and len(job.pairs) == 180
    assert not {source for source, _ in job.held_out} & {source for source, _ in job.pairs}
    assert TrainingJob.from_json(job.to_json()) == job


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"margin": 0.0}, "margin must be above 0, got 0.0."),
        ({"attribute": True}, "attribute needs native: with everything injected there is nothing to attribute."),
        ({"seeds": [0]}, "seeds must be at least two different ones from 0 on, got [0]."),
        ({"seeds": [1, 1]}, "seeds must be at least two different ones from 0 on, got [1, 1]."),
        ({"seeds": [0.5, 1]}, "A seed must be a whole number, got 0.5."),
        ({"backends": ["numpy"]}, "backends must name another than the reference numpy, got numpy alone."),
        ({"backends": ["torch", "torch"]}, "backends must be different columns, got torch, torch."),
    ],
)
def test_calls_that_cannot_be(call, words):
    with pytest.raises(ConfigError) as error:
        runs(**{"backends": ["torch"], "job": SHORT, **call})
    assert str(error.value) == words


def test_without_scipy_the_line_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(ConfigError, match="Intervals and tests need scipy, which is not installed. Install it with: "):
        runs(["torch"], job=SHORT)


def test_too_few_pairs():
    with pytest.raises(DataError, match="The pairs of a training job must be at least 32, got 9."):
        split_job("file", [(f"source {i}", "target") for i in range(10)])
