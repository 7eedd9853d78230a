"""Cached decoding: the source is encoded once, and each step computes one token."""

from __future__ import annotations

import numpy as np

from .framework import no_gradients
from .model import EncoderDecoder


def suppress(logits: np.ndarray, token_ids: tuple[int, ...]) -> np.ndarray:
    if token_ids:
        logits = logits.copy()
        logits[..., list(token_ids)] = -np.inf
    return logits


@no_gradients()
def greedy(model: EncoderDecoder, source: np.ndarray, valid_lens: np.ndarray, max_steps: int) -> np.ndarray:
    config = model.config
    state = model.decoder.init_state(model.encoder(source, valid_lens), valid_lens, max_steps)
    tokens = np.full((source.shape[0], 1), config.start_id)
    finished = np.zeros(tokens.shape, dtype=bool)
    generated = []
    for _ in range(max_steps):
        logits, state = model.decoder(tokens, state)
        tokens = suppress(logits, config.suppress_ids).argmax(axis=-1)
        generated.append(tokens)
        finished |= tokens == config.eos_id
        if finished.all():
            break
    return np.concatenate(generated, axis=1)


class BeamDecoder:
    """The BeamSession of ``transformer_mb.beam_search``."""

    @no_gradients()
    def __init__(self, model: EncoderDecoder, source: np.ndarray, valid_lens: np.ndarray, max_steps: int, beam: int):
        model.eval()
        enc_outputs = model.encoder(source, valid_lens).repeat(beam, axis=0)
        self.model = model
        self.state = model.decoder.init_state(enc_outputs, valid_lens.repeat(beam), max_steps)

    @no_gradients()
    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        logits, self.state = self.model.decoder(tokens[:, None], self.state)
        log_probs = _log_softmax(suppress(logits[:, 0].astype(np.float64), self.model.config.suppress_ids))
        count = min(count, log_probs.shape[-1])
        best = np.argpartition(-log_probs, count - 1, axis=-1)[:, :count]
        best.sort(axis=-1)  # so that among equals the smaller id comes first
        order = np.argsort(-np.take_along_axis(log_probs, best, axis=-1), axis=-1, kind="stable")
        ids = np.take_along_axis(best, order, axis=-1)
        return np.take_along_axis(log_probs, ids, axis=-1), ids

    def reorder(self, rows: np.ndarray) -> None:
        # Cross-attention stays: all rows of one source share it.
        self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(rows)) for cache in self.state[2]]


def _log_softmax(scores: np.ndarray) -> np.ndarray:
    scores = scores - scores.max(axis=-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
