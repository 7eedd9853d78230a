"""Mistakes that the rows of given numbers, hypotheses, refused inputs, eight bits and far norms must fail."""

import numpy as np
import pytest
import torch

from transformer_mb.backends.numpy import BACKEND
from transformer_mb.backends.numpy import decoding as numpy_decoding
from transformer_mb.backends.torch import BACKEND as TORCH
from transformer_mb.decoding.beam_search import ScoredIds
from transformer_mb.parity.cells import FAILED, PASSED
from transformer_mb.parity.computing.computations import compute
from transformer_mb.parity.rows.fast_steps import fast_experiments
from transformer_mb.parity.rows.given_numbers import GivenNumbers
from transformer_mb.parity.rows.hypotheses import Hypotheses
from transformer_mb.parity.rows.layers import layer_experiments
from transformer_mb.parity.rows.refused_inputs import RefusedInputs
from transformer_mb.rounding import rounded

rule = numpy_decoding.drawn


def found(experiment, backend_class=BACKEND):
    backend = backend_class(dtype=experiment.dtype)
    (result,) = experiment.run(backend.name, lambda request: compute(backend, request))
    return result


def test_a_number_of_one_draws_what_was_kept(monkeypatch):
    (experiment,) = GivenNumbers.made("float64", 0)
    assert found(experiment).status == PASSED
    monkeypatch.setattr(numpy_decoding, "drawn", to_the_last_token)
    result = found(experiment)
    assert result.status == FAILED and "1.0 draws" in result.reason


def to_the_last_token(logits, uniform, truncation):
    """Draw by 1 the last of all tokens, whatever was cut."""
    every = truncation._replace(top_k=logits.shape[-1], top_p=1.0)
    return np.where(uniform == 1.0, rule(logits, uniform, every), rule(logits, uniform, truncation))


class ScoresInTwoBytes(BACKEND):
    def hypotheses(self, *given, **options):
        rows = super().hypotheses(*given, **options)
        return [
            [ScoredIds(one.ids, *map(float, rounded(np.array(one[1:3]), "bfloat16"))) for one in hypotheses]
            for hypotheses in rows
        ]


class BestAlone(BACKEND):
    def hypotheses(self, *given, n_best=1, **options):
        return super().hypotheses(*given, n_best=n_best, **options)


class WiderBeam(BACKEND):
    def hypotheses(self, model, source, lens, steps, beam=5, **options):
        return super().hypotheses(model, source, lens, steps, beam, **options)


@pytest.mark.parametrize("seed", range(3))
def test_all_hypotheses_come_with_their_digits(seed):
    (experiment,) = Hypotheses.made("float32", seed)
    assert found(experiment).status == PASSED
    assert found(experiment, ScoresInTwoBytes).status == FAILED


@pytest.mark.parametrize("mistaken", [BestAlone, WiderBeam])
def test_more_or_fewer_hypotheses_are_not_those_that_were_expected(mistaken):
    (experiment,) = Hypotheses.made("float32", 0)
    with pytest.raises(Exception, match=r"must have shape \[2, 4"):
        found(experiment, mistaken)


class TakesAnyMask(BACKEND):
    """Repeat a mask that does not fit."""

    def apply(self, layer, *inputs, dropout_masks=None, **options):
        if dropout_masks:
            inputs_shape = (*np.shape(inputs[0])[:-1], np.shape(inputs[1])[1])
            dropout_masks = {path: np.broadcast_to(mask, inputs_shape) for path, mask in dropout_masks.items()}
        return super().apply(layer, *inputs, dropout_masks=dropout_masks, **options)


def test_what_one_backend_takes_is_named():
    (experiment,) = RefusedInputs.made("float64", 0)
    assert found(experiment).status == PASSED
    result = found(experiment, TakesAnyMask)
    assert result.status == FAILED and result.reason == "taken, not refused: a mask that would be repeated"


class NothingRounded(TORCH):
    def quantized(self, model):
        return model


def test_eight_bits_that_are_not_taken_are_noticed():
    (experiment, *_) = [one for one in fast_experiments("float32", 0, ()) if one.case == "int8, d2l"]
    assert found(experiment, TORCH).status == PASSED
    result = found(experiment, NothingRounded)
    assert result.status == FAILED and "less than eight bits can lose" in result.reason


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["layer norm", "std norm"])
def test_a_norm_that_loses_its_mean_fails(kind, dtype, monkeypatch):
    experiments = layer_experiments(dtype, 0)
    (experiment,) = [one for one in experiments if one.case == f"{kind} of numbers far from zero, without affine"]
    assert found(experiment, TORCH).status == PASSED
    monkeypatch.setattr("transformer_mb.backends.torch.normalization.LayerNorm.forward", in_its_format)
    assert found(experiment, TORCH).status == FAILED


def in_its_format(self, X):
    Z = X - X.mean(dim=-1, keepdim=True)
    deviation = torch.sqrt((Z * Z).mean(dim=-1, keepdim=True) + self.eps)
    return Z / deviation
