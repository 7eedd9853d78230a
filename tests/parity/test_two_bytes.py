"""bfloat16 and float16: what the matrix has of them, what is planted into torch there, and what is never computed in less."""

from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from transformer_mb.backends.torch import trainer
from transformer_mb.backends.torch.backend import TorchBackend
from transformer_mb.backends.torch.loss import MaskedSoftmaxCELoss
from transformer_mb.backends.torch.optimizers import Float32Copies
from transformer_mb.built_in import EVERY_DTYPE, PLAIN_DTYPES
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing import reference
from transformer_mb.parity.computing.alterations import setting, shifted, transposed
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.computing.messages import before_rounding
from transformer_mb.parity.rows.layers import drawn_experiments, layer_experiments
from transformer_mb.parity.rows.models import model_experiments
from transformer_mb.parity.rows.one_answer import EqualParts
from transformer_mb.parity.rows.trained_steps import accumulated_experiments, optimizer_experiments
from transformer_mb.parity.verdict.answers import judged
from transformer_mb.rounding import rounded

TWO_BYTES = sorted(set(EVERY_DTYPE) - {*PLAIN_DTYPES})
in_two_bytes = pytest.mark.parametrize("dtype", TWO_BYTES)


def failed(experiments, backend):
    """The rows and cases that fail."""
    results = [one for experiment in experiments for one in judged(experiment, "torch", partial(compute, backend))]
    assert results and {one.status for one in results} <= {PASSED, FAILED}
    return {(one.row, one.case) for one in results if one.status == FAILED}


class NarrowLoss(MaskedSoftmaxCELoss):
    """The softmax of bfloat16 logits in bfloat16; the result is float32, so that its dtype tells nothing."""

    def forward(self, pred, label, valid_len):
        B, T, _ = pred.shape
        losses = F.cross_entropy(pred.flatten(0, 1), label.flatten(), reduction="none", label_smoothing=self.label_smoothing)
        valid = torch.arange(T) < valid_len[:, None]
        sums = torch.where(valid, losses.unflatten(0, (B, T)), 0.0).sum(dim=1)
        return (sums / (T if self.normalization == "steps" else valid_len.sum().clamp(min=1))).float()


class WithNarrowLoss(TorchBackend):
    MaskedSoftmaxCELoss = NarrowLoss


@in_two_bytes
def test_a_loss_computed_in_two_bytes_fails(dtype):
    losses = [each for each in layer_experiments(dtype, 0) if each.case.startswith("loss")]
    assert failed(losses, TorchBackend(dtype=dtype)) == set()
    cells = {(row, each.case) for each in losses for row in each.rows}
    assert len(cells) == 4 and failed(losses, WithNarrowLoss(dtype=dtype)) == cells


@in_two_bytes
def test_moments_and_updates_in_two_bytes_fail(dtype, monkeypatch):
    updates = optimizer_experiments(dtype, 0)
    assert failed(updates, TorchBackend(dtype=dtype)) == set()
    monkeypatch.setattr(Float32Copies, "_copied", lambda self, parameter: parameter)
    assert failed(updates, TorchBackend(dtype=dtype)) == {("optimizer step", each.case) for each in updates}


@in_two_bytes
def test_an_update_that_is_rounded_twice_fails(dtype, monkeypatch):
    """Its moments are float32, its steps are rounded before they are taken."""
    updates = optimizer_experiments(dtype, 0)

    def write_rounded_steps(self):
        with torch.no_grad():
            for copy, parameter in self.pairs:
                parameter.sub_((parameter.float() - copy).to(parameter.dtype))

    monkeypatch.setattr(Float32Copies, "write", write_rounded_steps)
    assert failed(updates, TorchBackend(dtype=dtype)) == {("optimizer step", each.case) for each in updates}


def _forget_half(self):
    """Of the two places where gradients are in two bytes."""
    for tensor in self.tensors:
        tensor.grad = None


def _replace_gradients(self):
    for copy, parameter in self.pairs:
        if parameter.grad is not None:
            copy.grad, parameter.grad = parameter.grad.float(), None


IN_TRAINING = {
    "gradients reach nothing": (Float32Copies, "add_gradients", lambda self: None),
    "gradients of the last batch alone": (Float32Copies, "add_gradients", _replace_gradients),
    "weights that are set are ignored": (Float32Copies, "read", lambda self: None),
    "gradients of earlier steps are kept": (trainer.TorchTrainer, "_forget_gradients", _forget_half),
}


@in_two_bytes
@pytest.mark.parametrize("planted", IN_TRAINING)
def test_a_mistake_between_parameters_and_what_is_updated_fails(planted, dtype, monkeypatch):
    (training,), backend = accumulated_experiments(dtype, 0), TorchBackend(dtype=dtype)
    assert failed([training], backend) == set()
    monkeypatch.setattr(*IN_TRAINING[planted])
    assert failed([training], backend) == {("trained steps", training.case)}


def test_parts_that_are_summed_in_two_bytes_fail(monkeypatch):
    """Of 64 equal ones the last are added to a sum whose last place is a quarter of them."""
    (parts,), backend = EqualParts.made("bfloat16", 0), TorchBackend(dtype="bfloat16")
    assert failed([parts], backend) == set()

    def sum_in_two_bytes(self):
        for copy, parameter in self.pairs:
            if parameter.grad is not None:
                before = 0.0 if copy.grad is None else copy.grad.to(parameter.dtype)
                copy.grad, parameter.grad = (before + parameter.grad).float(), None

    monkeypatch.setattr(Float32Copies, "add_gradients", sum_in_two_bytes)
    (result,) = judged(parts, "torch", partial(compute, backend))
    assert result.status == FAILED and result.share > 1000.0


MISTAKES = {
    ("layer gradients", "cross-attention, all masks"): transposed("weights.W_o.weight"),
    ("layer gradients", "layer norm"): setting("options", "kind", value="std_norm"),
    ("model loss", "d2l"): shifted("batch.target_valid_lens"),
    ("model gradients", "silu, uneven sides, smoothed loss"): transposed("weights.decoder.blks.block0.attention1.W_o.weight"),
    ("optimizer step", "adam, clipped"): setting("options", "clip_norm", value=None),
}


@in_two_bytes
@pytest.mark.parametrize("planted", MISTAKES, ids=", ".join)
def test_a_mistake_in_a_request_fails(planted, dtype):
    experiments = [
        *layer_experiments(dtype, 0),
        *drawn_experiments(dtype, 0),
        *model_experiments(dtype, 0),
        *optimizer_experiments(dtype, 0),
    ]
    experiment = next(each for each in experiments if planted in {(cell.row, cell.case) for cell in each.cells("torch")})
    backend, alter = TorchBackend(dtype=dtype), MISTAKES[planted]
    assert all(result.status == PASSED for result in judged(experiment, "torch", partial(compute, backend)))
    results = judged(experiment, "torch", lambda request: compute(backend, alter(request)))
    assert {result.row: result.status for result in results}[planted[0]] == FAILED


@in_two_bytes
def test_what_is_nearest_to_the_exact_result_before_rounding(dtype):
    exact = np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.arange(-3, 2).repeat(200)
    got = rounded(exact, dtype)
    np.testing.assert_array_equal(before_rounding(got, exact, dtype), exact)
    double = got * 2.0  # another number of the format: what rounds to it ends halfway to the next
    near = before_rounding(double, exact, dtype)
    assert (np.abs(near) < np.abs(double)).all() and (np.abs(near) > 1.9 * np.abs(exact)).all()
    np.testing.assert_array_equal(before_rounding(np.zeros(2), np.array([0.0, 1.0]), dtype)[0], 0.0)


@in_two_bytes
def test_rounded_numpy_has_the_loss_and_the_optimizer_in_float32(dtype):
    backend = reference.backend(dtype)
    losses = [each for each in layer_experiments(dtype, 0) if each.case.startswith("loss")]
    experiments = losses + optimizer_experiments(dtype, 0)
    assert failed(experiments, backend) == set()
    updated = compute(backend, experiments[-1].request)
    for name, value in updated.items():
        if name.startswith("weights."):
            np.testing.assert_array_equal(value, rounded(value, dtype))
    assert any((rounded(value, dtype) != value).any() for name, value in updated.items() if name.startswith("slots."))


@in_two_bytes
def test_torch_keeps_moments_in_float32(dtype):
    request = optimizer_experiments(dtype, 0)[0].request
    answer = compute(TorchBackend(dtype=dtype), request)
    assert any((rounded(value, dtype) != value).any() for name, value in answer.items() if name.startswith("slots.m."))


@in_two_bytes
def test_each_seed_has_drawn_cases(dtype):
    for seed in range(3):
        layers = {each.case for each in drawn_experiments(dtype, seed)}
        models = {each.case for each in model_experiments(dtype, seed) if each.case.startswith("drawn")}
        assert len(layers) >= 2 and len(models) == 1
