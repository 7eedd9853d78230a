"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

import numpy as np

from transformer_mb.decoding.greedy import greedy_loop
from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.decoding.ranking import best_tokens
from transformer_mb.decoding.sampling import Truncation

from .decoding_steps import DecodingSteps
from .encoding import encode
from .framework import no_gradients
from .model import EncoderDecoder
from .prepared_layers import is_plain
from .sampling import drawn, uniforms

GROUP = 16  # columns of a vocabulary of which a search for the best looks at the largest first


def suppress(logits: np.ndarray, token_ids: tuple[int, ...]) -> np.ndarray:
    """In place: they are of one step."""
    if token_ids:
        logits[..., list(token_ids)] = -np.inf
    return logits


@no_gradients()
def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
    decoder = BeamDecoder(model, inputs, max_steps, 1)

    def step(tokens: np.ndarray) -> np.ndarray:
        return decoder._logits(tokens).argmax(axis=-1)

    return greedy_loop(step, inputs.tokens, max_steps, model.config.eos_id, inputs.forced)


@no_gradients()
def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    numbers = iter(uniforms(inputs.seeds, model.config.max_len).T)

    def step(tokens: np.ndarray) -> np.ndarray:
        return drawn(decoder._logits(tokens), next(numbers), truncation)

    return greedy_loop(step, inputs.tokens, max_steps, model.config.eos_id, inputs.forced)


class BeamDecoder:
    """The BeamSession of ``transformer_mb.decoding.session``."""

    @no_gradients()
    def __init__(self, model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool = False):
        self.model, self.attend = model, attend
        rows, max_steps = beam * len(inputs.tokens), max_steps + inputs.prompt_steps
        enc_outputs, valid_lens = None, inputs.valid_lens
        plain = not attend and is_plain(model.decoder) and (model.encoder is None or is_plain(model.encoder))
        if model.encoder is not None and plain:
            # No row reads further than the longest of them; of one row alone nothing is left to be masked.
            enc_outputs = encode(model.encoder, inputs.source[:, : max(valid_lens.max(), 1)], valid_lens)
        elif model.encoder is not None:
            enc_outputs = model.encoder(inputs.source, valid_lens)
        self.steps: DecodingSteps | None = None
        self.state = model.decoder.init_state(None, None, max_steps, inputs.left_padding)
        if inputs.prompt is not None:
            _, self.state = model.decoder._hidden_states(inputs.prompt, self.state)
            self.reorder(np.arange(len(inputs.tokens)).repeat(beam))
        if plain:
            self.steps = DecodingSteps(model.decoder, enc_outputs, valid_lens, self.state[2], rows, max_steps)
        elif enc_outputs is not None:
            self.state[:2] = enc_outputs.repeat(beam, axis=0), valid_lens.repeat(beam)

    def _logits(self, tokens: np.ndarray) -> np.ndarray:
        if self.steps is not None:
            logits = self.steps.logits(tokens)
        else:
            stepped, self.state = self.model.decoder(tokens[:, None], self.state, need_weights=self.attend)
            logits = stepped[:, 0]
        return suppress(logits, self.model.config.suppress_ids)

    @no_gradients()
    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        logits = self._logits(tokens)

        def top(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            ids = _top(logits, k)
            best = np.take_along_axis(logits, ids, axis=-1)
            return best, ids, best - _log_sum(logits)

        def lowest(rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
            size = logits.shape[-1]
            return _top(np.where(logits[rows] == last[:, None], -np.arange(size), -size), k)

        return best_tokens(logits.shape[-1], count, top, lowest)

    @no_gradients()
    def log_probabilities(self, tokens: np.ndarray) -> np.ndarray:
        logits = self._logits(tokens)
        return np.asarray(logits - _log_sum(logits))

    def reorder(self, rows: np.ndarray) -> None:
        if self.steps is not None:
            return self.steps.reorder(rows)
        # Cross-attention stays: all rows of one source share it.
        self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(rows)) for cache in self.state[2]]

    def attention(self) -> np.ndarray:
        return self.model.decoder.attention_weights[1][-1][:, :, 0].mean(axis=1).astype(np.float64)


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
    columns = np.argpartition(-rows, k - 1, axis=-1)[:, :k]
    order = np.argsort(-np.take_along_axis(rows, columns, axis=-1), axis=-1)
    return np.take_along_axis(columns, order, axis=-1)


def _log_sum(scores: np.ndarray) -> np.ndarray:
    """log(sum(exp(scores))) over the last axis, [..., 1] float64; the exponentials in the scores' own dtype."""
    highest = scores.max(axis=-1, keepdims=True)
    return np.asarray(highest + np.log(np.exp(scores - highest).sum(axis=-1, keepdims=True, dtype=np.float64)))
