"""Training: the same dropout masks on both sides, each framework's own optimizer, and what is compiled."""

from pathlib import Path

import pytest

from transformer_mb import check
from transformer_mb.check.stepping import judge_steps
from transformer_mb.parity.verdict.limits import worst

LAYERS = Path(__file__).parent / "layers"
KERNELS = {"one.weight": "one.kernel.T", "two.weight": "two.kernel.T", "one.bias": "one.bias", "two.bias": "two.bias"}
SCALES = KERNELS | {"norm.weight": "norm.scale", "norm.bias": "norm.bias"}
GAMMAS = KERNELS | {"norm.weight": "norm.gamma", "norm.bias": "norm.beta"}
AS_THEY_ARE = {"one.bias": "one.bias", "two.bias": "two.bias", "norm.weight": "norm.weight", "norm.bias": "norm.bias"}
TURNED = AS_THEY_ARE | {"one.weight": "one.weight.T", "two.weight": "two.weight.T"}
OF_GLUON = GAMMAS | {"one.weight": "one.weight", "two.weight": "two.weight"}


def torch(*arguments):
    return check.torch(f"{LAYERS}/in_torch.py:Perceptron", 4, *arguments)


def flax(*arguments):
    return check.flax(f"{LAYERS}/in_flax.py:Perceptron", 4, *arguments)


def run(reference, candidate, weights, **how):
    return check.check(reference, candidate, weights=weights, inputs={"x": check.floats(3, 4)}, draws=1, **how)


def test_the_same_numbers_are_dropped_and_the_same_steps_taken_on_both_sides():
    report = run(torch(0.3), flax(0.3), SCALES, dropout="same masks", optimizer=check.adamw(1e-3, weight_decay=0.1))
    assert report.passed and {one.kind for one in report.figures} == {"outputs", "gradients", "updates"}, report


@pytest.mark.parametrize(
    ("candidate", "weights", "words"),
    [
        (torch(0.4), None, "place 1 that drops must be [3, 8] at rate 0.3, as the reference's, got [3, 8] at rate 0.4"),
        (torch(0.0), None, "the reference drops at 1 places, the candidate at 0"),
        pytest.param(flax(0.3, (0,)), SCALES, "got [1, 8] at rate 0.3", marks=pytest.mark.long),
    ],
    ids=["rate", "missing", "the same for all rows"],
)
def test_other_dropout_fails_with_its_place(candidate, weights, words):
    report = run(torch(0.3), candidate, weights, dropout="same masks", bisect=False)
    assert not report.passed and words in str(report), report


@pytest.mark.long
@pytest.mark.parametrize(
    ("candidate", "weights"),
    [
        (check.keras(f"{LAYERS}/in_keras.py:Perceptron", 4, 0.3), GAMMAS),
        (check.paddle(f"{LAYERS}/in_paddle.py:Perceptron", 4, 0.3), TURNED),
        (check.gluon(f"{LAYERS}/in_gluon.py:Perceptron", 4, 0.3), OF_GLUON),
    ],
    ids=["keras", "paddle", "gluon"],
)
def test_every_framework_drops_what_it_is_told(candidate, weights):
    report = run(torch(0.3), candidate, weights, dropout="same masks", sensitivity=False)
    assert report.passed, report


@pytest.mark.long
def test_attention_drops_the_same_weights_though_it_is_fused():
    weights = {
        "attn.in_proj_weight": check.stack(
            *(check.weight(f"attn.{n}.kernel").reshape(4, 4).T for n in ("query", "key", "value"))
        ),
        "attn.in_proj_bias": check.stack(*(check.weight(f"attn.{n}.bias").reshape(4) for n in ("query", "key", "value"))),
        "attn.out_proj.weight": check.weight("attn.out.kernel").reshape(4, 4).T,
        "attn.out_proj.bias": "attn.out.bias",
    }
    reference, candidate = (
        make(f"{LAYERS}/{file}.py:Attending", 4, 0.3) for make, file in ((check.torch, "in_torch"), (check.flax, "in_flax"))
    )
    how = {"weights": weights, "inputs": {"x": check.floats(2, 3, 4)}, "dropout": "same masks", "draws": 1}
    assert check.check(reference, candidate, **how).passed


@pytest.mark.long
@pytest.mark.parametrize("optimizer", [check.sgd(0.1, 0.9), check.adam(1e-3)], ids=["sgd", "adam"])
def test_an_optimizer_of_torchs_and_of_optax_take_the_same_steps(optimizer):
    report = run(torch(), flax(), SCALES, optimizer=optimizer, sensitivity=False, gradients=False)
    updates = [one for one in report.figures if one.kind == "updates"]
    assert report.passed and len(updates) == 2 * 2 * 6, report


@pytest.mark.parametrize("rate", [1e-2, pytest.param(1e-1, marks=pytest.mark.long)])
def test_adam_may_lose_in_float32_what_its_bias_correction_does(rate):
    """optax takes 1 - beta exactly and 1 - beta^t in float32: a share of up to 1.5e-5 of each step."""
    with check.opened(torch(), flax(), weights=SCALES, inputs={"x": check.floats(3, 4)}, gradients=False) as session:
        figures = judge_steps(session, session.draw(0), check.adam(rate))
        assert all(one.passed for one in figures), figures
    errors = [one.error for one in figures if one.dtype == "float32"]
    assert 4e-6 < worst(errors) < 3e-5


@pytest.mark.long
def test_keras_puts_the_epsilon_of_adam_elsewhere_and_that_shows():
    """Its epsilon is added before the bias correction, as its documentation says; both are 1e-3 here."""
    keras = check.keras(f"{LAYERS}/in_keras.py:Perceptron", 4)
    report = run(torch(), keras, GAMMAS, optimizer=check.adam(1e-3, epsilon=1e-3), sensitivity=False, gradients=False)
    failed = {one.kind for one in report.figures if not one.passed}
    assert failed == {"updates"} and " after 1 step: " in str(report), report


@pytest.mark.long
def test_optimizers_of_factories_are_compared_too():
    how = {"sensitivity": False, "gradients": False, "bisect": False}
    names = f"{LAYERS}/in_torch.py:adam", f"{LAYERS}/in_flax.py:adam"
    assert run(torch(), flax(), SCALES, optimizer=check.own_optimizers(*names), **how).passed
    other = check.own_optimizers(names[0], f"{LAYERS}/in_flax.py:other_adam")
    assert not run(torch(), flax(), SCALES, optimizer=other, **how).passed


@pytest.mark.long(but=1)
@pytest.mark.parametrize("candidate", [flax(), check.linen(f"{LAYERS}/in_flax.py:LinenPerceptron", 4)], ids=["nnx", "linen"])
def test_what_is_compiled_is_the_same_as_what_is_not(candidate):
    report = run(candidate, candidate.compiled(), None)
    assert report.passed and "compiled" in report.candidate, report
