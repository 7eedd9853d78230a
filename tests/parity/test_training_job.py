"""The training that stepwise, free-running and hand-over rows follow is another one for another seed."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing import making, reference
from transformer_mb.parity.computing.messages import rounded_arrays
from transformer_mb.parity.plan import Plan, Selection
from transformer_mb.parity.rows.training import FreeRunning, Recording, make_job, step_request
from transformer_mb.parity.verdict.limits import MORE_COPIES, TIMES_NUMPY, Baseline, Errors, judge


@pytest.fixture(scope="module")
def jobs():
    return {seed: make_job(None, seed) for seed in (0, 1)}


def test_weights_and_batches_follow_the_seed(jobs):
    first, second = jobs.values()
    assert all(np.array_equal(value, make_job(None, 0).batches[name]) for name, value in first.batches.items())
    assert not np.array_equal(first.batches["source"], second.batches["source"])
    assert any(not np.array_equal(value, second.weights[name]) for name, value in first.weights.items())
    # The same pairs in another order.
    rows = [np.unique(job.batches["source"].reshape(-1, job.batches["source"].shape[-1]), axis=0) for job in (first, second)]
    assert len(rows[0]) == len(rows[1])


def test_what_is_dropped_follows_the_seed(jobs, monkeypatch):
    """In every request of the rows of training."""
    seeds, draw = set(), making.dropout_masks
    monkeypatch.setattr(making, "dropout_masks", lambda config, seed, *rest: seeds.add(seed) or draw(config, seed, *rest))
    job = jobs[1]
    making._drawn.cache_clear()
    reference.answer(step_request(Recording(job), "float64", 0, job.start))
    reference.answer(job.run("float64", 0, 1, job.start))
    making._drawn.cache_clear()
    assert seeds == {1}


def test_one_state_has_another_loss_with_other_masks(jobs):
    job = jobs[0]
    request = job.step("float64", 0, job.start)
    losses = []
    for seed in (0, 1):
        spec = {**request.spec, "seed": seed}
        losses.append(float(reference.answer(type(request)("step", "float64", spec, request.arrays))["loss"]))
    assert losses[0] != losses[1]


def test_the_plan_hands_its_seed_on():
    plan = Plan(Selection(seed=1), ["numpy"])
    assert plan.recording.job.seed == 1 and plan.recording.job.run("float64", 0, 1, {}).spec["seed"] == 1


def test_a_first_step_is_judged_again_by_more_draws():
    """Where a gradient is nearly zero, Adam moves a weight up or down by rounding: another number in another draw."""
    runs = [FreeRunning(Recording(make_job(None, seed)), "float32", steps=1) for seed in range(4)]
    found = [(run, run._single_steps().numpy, run._single_steps(MORE_COPIES).numpy) for run in runs]
    one_run, single, draws = sorted(found, key=lambda each: each[2].element / each[1].element)[-1]
    assert draws.element > 1.2 * single.element
    within = Errors(*(TIMES_NUMPY * (one + several) / 2 for one, several in zip(single, draws, strict=True)))
    assert not judge(one_run.row, "float32", within, Baseline(single, copies=single)).passed
    assert one_run._first_step(within).passed
    assert not one_run._first_step(Errors(*(1.01 * TIMES_NUMPY * figure for figure in draws))).passed


def test_a_first_step_may_take_either_side_of_a_kink():
    """After 50 steps one input of a ReLU is within rounding of zero; JAX on a GPU took the other side of it than NumPy does."""
    run = FreeRunning(Recording(make_job(None, 0)), "float32", first=50, steps=10)
    (unit,) = reference.near_kinks(run.recording.job.run("float32", 50, 1, run.start, states_at=[51]))

    def answered(request, learning_rate=1.0):
        options = {**request.spec["options"], "learning_rate": learning_rate * request.spec["options"]["learning_rate"]}
        exact = reference.answer_with(replace(request, spec={**request.spec, "options": options}), [unit])
        return {**rounded_arrays(exact, "float32"), "losses": exact["losses"]}

    (result,) = run.run("numpy", answered)
    assert result.status == PASSED and result.reason.endswith("kinks on their other side: 1"), result.reason
    (result,) = run.run("numpy", partial(answered, learning_rate=1.01))
    assert result.status == FAILED and "first step" in result.reason
