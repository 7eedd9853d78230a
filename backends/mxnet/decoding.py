"""Cached decoding: the source is encoded once, and each step computes one token."""

from __future__ import annotations

from functools import lru_cache

import mxnet as mx
import numpy as np
from mxnet import autograd, npx
from mxnet import np as mnp

from .model import EncoderDecoder
from .weights import to_device


def suppress(logits: mnp.ndarray, token_ids: tuple[int, ...]) -> mnp.ndarray:
    if not token_ids:
        return logits
    return logits + _suppression(token_ids, logits.shape[-1], np.dtype(logits.dtype).name, logits.ctx)


@lru_cache(maxsize=16)
def _suppression(token_ids: tuple[int, ...], vocab_size: int, dtype: str, context: mx.Context) -> mnp.ndarray:
    """[V]: minus infinity at these tokens."""
    row = np.zeros(vocab_size, dtype)
    row[list(token_ids)] = -np.inf
    return to_device(row, context)


def greedy(model: EncoderDecoder, source: mnp.ndarray, valid_lens: mnp.ndarray, max_steps: int) -> mnp.ndarray:
    config = model.config
    with autograd.pause(train_mode=False):
        state = model.decoder.init_state(model.encoder(source, valid_lens), valid_lens, max_steps)
        tokens = mnp.full((source.shape[0], 1), config.start_id, dtype="int64", ctx=source.ctx)
        finished = np.zeros(tokens.shape, bool)
        generated = []
        for _ in range(max_steps):
            logits, state = model.decoder(tokens, state)
            tokens = suppress(logits, config.suppress_ids).argmax(axis=-1)
            generated.append(tokens)
            finished |= tokens.asnumpy() == config.eos_id
            if finished.all():
                break
        return mnp.concatenate(generated, axis=1)


class BeamDecoder:
    """The BeamSession of ``transformer_mb.beam_search``."""

    def __init__(self, model: EncoderDecoder, source: mnp.ndarray, valid_lens: mnp.ndarray, max_steps: int, beam: int):
        with autograd.pause(train_mode=False):
            enc_outputs = mnp.repeat(model.encoder(source, valid_lens), beam, axis=0)
            self.model = model
            self.state = model.decoder.init_state(enc_outputs, mnp.repeat(valid_lens, beam), max_steps)

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        column = to_device(np.array(tokens)[:, None], self.state[0].ctx)
        with autograd.pause(train_mode=False):
            logits, self.state = self.model.decoder(column, self.state)
            log_probs = npx.log_softmax(suppress(logits[:, 0], self.model.config.suppress_ids))
            best, ids = npx.topk(log_probs, k=min(count, log_probs.shape[-1]), ret_typ="both", dtype="int32")
        return best.asnumpy().astype(np.float64), ids.asnumpy().astype(np.int64)

    def reorder(self, rows: np.ndarray) -> None:
        index = to_device(np.array(rows), self.state[0].ctx)
        # Cross-attention stays: all rows of one source share it.
        self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(index)) for cache in self.state[2]]
