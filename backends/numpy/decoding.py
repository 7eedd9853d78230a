"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

import numpy as np

from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.decoding.sampling import Truncation
from transformer_mb.decoding.session import EagerSession

from .model import EncoderDecoder
from .running import no_gradients
from .shortcuts.decoding_steps import DecodingSteps
from .shortcuts.prepared_layers import Hidden, encode, hidden_keys, is_plain

GROUP = 16  # columns of a vocabulary of which a search for the best looks at the largest first


def suppress(logits: np.ndarray, token_ids: tuple[int, ...]) -> np.ndarray:
    """Rule tokens out in place: the logits are of one step."""
    if token_ids:
        logits[..., list(token_ids)] = -np.inf
    return logits


def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
    return BeamDecoder(model, inputs, max_steps, 1).generated(inputs, max_steps, lambda logits: logits.argmax(axis=-1))


def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
    numbers = iter(uniforms(inputs.seeds, model.config.max_len).T)
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    return decoder.generated(inputs, max_steps, lambda logits: drawn(logits, next(numbers), truncation))


class BeamDecoder(EagerSession):
    _computing = staticmethod(no_gradients)
    _suppress = staticmethod(suppress)

    def _look(self, inputs: DecodingInputs, beam: int) -> None:
        sides = self.model.encoder, self.model.decoder
        self.plain = all(side is None or is_plain(side) for side in sides)
        self.hidden: Hidden | None = None

    def _native(self, array: np.ndarray) -> np.ndarray:
        return array

    def _array(self, tensor: np.ndarray) -> np.ndarray:
        return tensor

    def _repeated(self, tensor: np.ndarray, beam: int) -> np.ndarray:
        return tensor.repeat(beam, axis=0)

    def _encoded(self, inputs: DecodingInputs) -> np.ndarray:
        if self.attend or not self.plain:
            return self.model.encoder(inputs.source, inputs.valid_lens)
        # No row reads further than the longest of them; of one row alone nothing is left to be masked.
        source = inputs.source[:, : max(inputs.valid_lens.max(), 1)]
        self.hidden = hidden_keys(inputs.valid_lens, source.shape[1], self.model.encoder.embedding.weight.value.dtype)
        return encode(self.model.encoder, source, self.hidden)

    def _prepared(
        self, enc_outputs: np.ndarray | None, inputs: DecodingInputs, rows: int, max_steps: int
    ) -> DecodingSteps | None:
        if not self.plain:
            return None
        return DecodingSteps(self.model.decoder, enc_outputs, self.hidden, self.state[2], rows, max_steps)

    def _log_softmax(self, logits: np.ndarray) -> np.ndarray:
        return np.asarray(logits - _log_sum(logits))

    def _top(self, logits: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ids = _top(logits, k)
        best = np.take_along_axis(logits, ids, axis=-1)
        return best, ids, best - _log_sum(logits)

    def _lowest(self, logits: np.ndarray, rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
        size = logits.shape[-1]
        return _top(np.where(logits[rows] == last[:, None], -np.arange(size), -size), k)


def _top(rows: np.ndarray, k: int) -> np.ndarray:
    """The columns of the k largest numbers of each row, the largest first; of equal ones any.

    Of groups of columns, the k with the largest maxima hold them: no number of another group exceeds any of these maxima.
    """
    count = rows.shape[-1] // GROUP
    if count > k:
        groups = _top(rows[:, : GROUP * count].reshape(len(rows), GROUP, count).max(axis=1), k)
        columns = (groups[:, None] + np.arange(0, GROUP * count, count)[:, None]).reshape(len(rows), -1)
        rest = np.broadcast_to(np.arange(GROUP * count, rows.shape[-1]), (len(rows), rows.shape[-1] % GROUP))
        columns = np.concatenate([columns, rest], axis=-1)
        return np.take_along_axis(columns, _top(np.take_along_axis(rows, columns, axis=-1), k), axis=-1)
    return np.argsort(-rows, axis=-1)[:, :k]


def _log_sum(scores: np.ndarray) -> np.ndarray:
    """log(sum(exp(scores))) over the last axis, [..., 1]."""
    highest = scores.max(axis=-1, keepdims=True)
    return np.asarray(highest + np.log(np.exp(scores - highest).sum(axis=-1, keepdims=True)))


def uniforms(seeds: np.ndarray, steps: int) -> np.ndarray:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]."""
    return np.stack([np.random.default_rng(seed).random(steps, np.float32) for seed in seeds])


def drawn(logits: np.ndarray, uniform: np.ndarray, truncation: Truncation) -> np.ndarray:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number.

    Of a number that was rounded up to 1 it is the last that was kept.
    """
    ids = np.argsort(-logits, axis=-1, kind="stable")  # of equal logits the lowest id first
    falling = np.take_along_axis(logits, ids, axis=-1)
    weights = np.exp((falling - falling[:, :1]) / truncation.temperature)
    weights[:, truncation.top_k :] = 0.0
    before = np.cumsum(weights, axis=-1) - weights
    weights[before >= truncation.top_p * weights.sum(axis=-1, keepdims=True)] = 0.0
    total = np.cumsum(weights, axis=-1)
    place = (total <= uniform[:, None] * total[:, -1:]).sum(axis=-1)
    place = np.minimum(place, (weights > 0.0).sum(axis=-1) - 1)
    return np.take_along_axis(ids, place[:, None], axis=-1)[:, 0]
