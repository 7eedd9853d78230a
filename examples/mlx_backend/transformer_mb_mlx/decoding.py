"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import mlx.core as mx
import numpy

from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.decoding.sampling import Truncation
from transformer_mb.decoding.session import EagerSession

from .model import EncoderDecoder


def suppress(logits: numpy.ndarray, token_ids: tuple[int, ...]) -> numpy.ndarray:
    """Rule tokens out; what chooses among the others reads NumPy's arrays."""
    chosen = numpy.array(logits)
    chosen[..., list(token_ids)] = -numpy.inf
    return chosen


def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> numpy.ndarray:
    return BeamDecoder(model, inputs, max_steps, 1).generated(inputs, max_steps, lambda logits: logits.argmax(axis=-1))


def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> numpy.ndarray:
    numbers = iter(uniforms(inputs.seeds, model.config.max_len).T)
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    return decoder.generated(inputs, max_steps, lambda logits: drawn(logits, next(numbers), truncation))


class BeamDecoder(EagerSession):
    _suppress = staticmethod(suppress)

    def _look(self, inputs: DecodingInputs, beam: int) -> None:
        pass

    def _computing(self) -> AbstractContextManager[Any]:
        return nullcontext()  # nothing is traced that is not asked for

    def _native(self, array: numpy.ndarray) -> numpy.ndarray:
        return array

    def _array(self, tensor: Any) -> numpy.ndarray:
        return numpy.array(tensor)

    def _repeated(self, tensor: numpy.ndarray, beam: int) -> numpy.ndarray:
        return mx.repeat(tensor, beam, axis=0) if isinstance(tensor, mx.array) else tensor.repeat(beam, axis=0)

    def _encoded(self, inputs: DecodingInputs) -> numpy.ndarray:
        return self.model.encoder(inputs.source, inputs.valid_lens)

    def _log_softmax(self, logits: numpy.ndarray) -> numpy.ndarray:
        return _log_softmax(logits)

    def _top(self, logits: numpy.ndarray, k: int) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
        ids = numpy.argsort(-logits, axis=-1, kind="stable")[:, :k]
        best, log_probs = (numpy.take_along_axis(each, ids, axis=-1) for each in (logits, _log_softmax(logits)))
        return best, ids, log_probs

    def _lowest(self, logits: numpy.ndarray, rows: numpy.ndarray, last: numpy.ndarray, k: int) -> numpy.ndarray:
        return numpy.argsort(logits[rows] != last[:, None], axis=-1, kind="stable")[:, :k]


def _log_softmax(logits: numpy.ndarray) -> numpy.ndarray:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(axis=-1, keepdims=True))


def uniforms(seeds: numpy.ndarray, steps: int) -> numpy.ndarray:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]."""
    return numpy.stack([numpy.random.default_rng(seed).random(steps, numpy.float32) for seed in seeds])


def drawn(logits: numpy.ndarray, uniform: numpy.ndarray, truncation: Truncation) -> numpy.ndarray:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    ids = numpy.argsort(-logits, axis=-1, kind="stable")  # of equal logits the lowest id first
    falling = numpy.take_along_axis(logits, ids, axis=-1)
    weights = numpy.exp((falling - falling[:, :1]) / truncation.temperature)
    weights[:, truncation.top_k :] = 0.0
    before = numpy.cumsum(weights, axis=-1) - weights
    weights[before >= truncation.top_p * weights.sum(axis=-1, keepdims=True)] = 0.0
    total = numpy.cumsum(weights, axis=-1)
    place = (total <= uniform[:, None] * total[:, -1:]).sum(axis=-1)
    # Rounding may end the sum a little late, among tokens that were cut.
    place = numpy.minimum(place, (weights > 0.0).sum(axis=-1) - 1)
    return numpy.take_along_axis(ids, place[:, None], axis=-1)[:, 0]
