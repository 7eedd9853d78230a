"""Cached decoding: the source is encoded once, and each step computes one token."""

from __future__ import annotations

import math

import numpy as np
import paddle
from paddle import Tensor

from .model import EncoderDecoder


def suppress(logits: Tensor, token_ids: tuple[int, ...]) -> Tensor:
    if not token_ids:
        return logits
    return paddle.index_fill(logits, paddle.to_tensor(token_ids, place=logits.place), -1, -math.inf)


@paddle.no_grad()
def greedy(model: EncoderDecoder, source: Tensor, valid_lens: Tensor, max_steps: int) -> Tensor:
    config = model.config
    state = model.decoder.init_state(model.encoder(source, valid_lens), valid_lens, max_steps)
    tokens = paddle.full([source.shape[0], 1], config.start_id, dtype=paddle.int64)
    finished = paddle.zeros_like(tokens, dtype=paddle.bool)
    generated = []
    for _ in range(max_steps):
        logits, state = model.decoder(tokens, state)
        tokens = suppress(logits, config.suppress_ids).argmax(axis=-1)
        generated.append(tokens)
        finished |= tokens == config.eos_id
        if finished.all():
            break
    return paddle.concat(generated, axis=1)


class BeamDecoder:
    """The BeamSession of ``transformer_mb.beam_search``."""

    @paddle.no_grad()
    def __init__(self, model: EncoderDecoder, source: Tensor, valid_lens: Tensor, max_steps: int, beam: int):
        model.eval()
        enc_outputs = model.encoder(source, valid_lens).repeat_interleave(beam, axis=0)
        self.model = model
        self.state = model.decoder.init_state(enc_outputs, valid_lens.repeat_interleave(beam), max_steps)

    @paddle.no_grad()
    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        column = paddle.to_tensor(tokens, place=self.state[0].place).unsqueeze(1)
        logits, self.state = self.model.decoder(column, self.state)
        logits = suppress(logits[:, 0], self.model.config.suppress_ids)
        best, ids = logits.topk(min(count, logits.shape[-1]))
        # Composed, because Paddle's own log_softmax on the CPU never falls below -64.
        total = (logits - best[:, :1]).exp().sum(axis=-1, keepdim=True).log()
        return (best - best[:, :1] - total).astype(paddle.float64).numpy(), ids.numpy()

    @paddle.no_grad()
    def reorder(self, rows: np.ndarray) -> None:
        index = paddle.to_tensor(rows, place=self.state[0].place)
        # Cross-attention stays: all rows of one source share it.
        self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(index)) for cache in self.state[2]]
