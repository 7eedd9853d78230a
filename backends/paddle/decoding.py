"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import paddle
from paddle import Tensor, nn

from transformer_mb.decoding import DecodingInputs, greedy_loop
from transformer_mb.ranking import best_tokens
from transformer_mb.sampling import Truncation

from .attention import MultiHeadAttention, _softmax_outside
from .cache import BlockCache
from .decoder import TransformerDecoder
from .model import EncoderDecoder
from .normalization import AddNorm
from .sampling import drawn, uniforms
from .weights import _take_threads


def suppress(logits: Tensor, token_ids: tuple[int, ...]) -> Tensor:
    if not token_ids:
        return logits
    return paddle.index_fill(logits, paddle.to_tensor(token_ids, place=logits.place), -1, -math.inf)


@paddle.no_grad()
def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
    decoder = BeamDecoder(model, inputs, max_steps, 1)

    def step(tokens: np.ndarray) -> np.ndarray:
        # Paddle does not say which of equal ones it is: the first, by Eigen on a CPU and by CUB on a GPU.
        return decoder._logits(tokens).argmax(axis=-1).numpy()

    return greedy_loop(step, inputs.tokens.numpy(), max_steps, model.config.eos_id, inputs.forced)


@paddle.no_grad()
def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    numbers = iter(uniforms(inputs.seeds, model.config.max_len).T)

    def step(tokens: np.ndarray) -> np.ndarray:
        return drawn(decoder._logits(tokens), next(numbers), truncation).numpy()

    return greedy_loop(step, inputs.tokens.numpy(), max_steps, model.config.eos_id, inputs.forced)


class _Step:
    """A token's way through the decoder's blocks: what the layers compute, without what they check.

    The three projections of self-attention are one product. Not for attention weights, which the layers keep.
    """

    def __init__(self, decoder: TransformerDecoder, state: list[Any]):
        self.decoder = decoder
        self.projections = [_joined(block.attention1) for block in decoder.blks]
        cross = state[2][0].cross_attention
        self.padding = None if cross is None else _outside(cross[2])

    def __call__(self, column: Tensor, state: list[Any]) -> tuple[Tensor, list[Any]]:
        decoder, (first, *_) = self.decoder, state[2]
        own = first.self_attention
        X = decoder.embed(column, 0 if decoder.compat_decode == "d2l" else own.length, left_padding=own.left_padding)
        padding = _outside(own._replace(length=own.length + 1).mask)
        caches = []
        for block, projection, (own, cross) in zip(decoder.blks, self.projections, state[2], strict=True):
            Y = block.addnorm1.sublayer_input(X)
            queries, keys, values = _parted(_affine(Y, *projection), 3, block.attention1.num_heads)
            own = own.append(keys, values)
            X = _added(block.addnorm1, X, _attended(block.attention1, queries, own.keys, own.values, padding))
            if cross is not None:
                Y = block.addnorm2.sublayer_input(X)
                queries = _parted(_affine(Y, *_weights(block.attention2.W_q)), 1, block.attention2.num_heads)[0]
                X = _added(block.addnorm2, X, _attended(block.attention2, queries, cross[0], cross[1], self.padding))
            Y = block.ffn.activation(_affine(block.addnorm3.sublayer_input(X), *_weights(block.ffn.dense1)))
            X = _added(block.addnorm3, X, _affine(Y, *_weights(block.ffn.dense2)))
            caches.append(BlockCache(own, cross))
        return decoder.dense(X if decoder.norm is None else decoder.norm(X)), [*state[:2], caches]


def _crossed(decoder: TransformerDecoder, state: list[Any]) -> list[Any]:
    """With what cross-attention reads at every step."""
    enc_outputs, valid_lens, caches = state
    crossed = []
    for block, cache in zip(decoder.blks, caches, strict=True):
        cache = cache or BlockCache()
        if block.attention2 is not None and enc_outputs is not None and cache.cross_attention is None:
            cache = cache._replace(cross_attention=block._cross(enc_outputs[:, :1], enc_outputs, valid_lens))
        crossed.append(cache)
    return [enc_outputs, valid_lens, crossed]


def _weights(dense: nn.Linear) -> tuple[Tensor, Tensor | None]:
    return dense.weight, dense.bias


def _joined(attention: MultiHeadAttention) -> tuple[Tensor, Tensor | None]:
    """The weights and biases of queries, keys and values side by side."""
    parts = attention.W_q, attention.W_k, attention.W_v
    bias = None if attention.W_q.bias is None else paddle.concat([part.bias for part in parts])
    return paddle.concat([part.weight for part in parts], axis=1), bias


def _affine(X: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    Y = paddle.matmul(X, weight)
    return Y if bias is None else Y + bias


def _parted(X: Tensor, parts: int, num_heads: int) -> list[Tensor]:
    """[B, 1, parts * D] -> as many of [B, H, 1, D/H]."""
    return X.reshape([0, parts, num_heads, 1, -1]).unbind(1)


def _outside(mask: Tensor | None) -> Tensor | None:
    """What a mask of all blocks hides; None where that is nothing."""
    return None if mask is None or bool(mask.all()) else ~mask


def _attended(attention: MultiHeadAttention, queries: Tensor, keys: Tensor, values: Tensor, outside: Tensor | None) -> Tensor:
    scores = paddle.matmul(queries / math.sqrt(queries.shape[-1]), keys, transpose_y=True)
    weights = _softmax_outside(scores, outside)
    return _affine(paddle.matmul(weights, values).reshape([0, 1, -1]), *_weights(attention.W_o))


def _added(addnorm: AddNorm, X: Tensor, Y: Tensor) -> Tensor:
    Z = X + Y
    return Z if addnorm.pre else addnorm.ln(Z)


class BeamDecoder:
    """The BeamSession of ``transformer_mb.beam_search``."""

    @paddle.no_grad()
    def __init__(self, model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool = False):
        if model.training:  # to say it again takes a tenth of a short sentence's time
            model.eval()
        _take_threads(model.decoder.dense.weight.size)
        self.model, self.attend = model, attend
        self.place = inputs.tokens.place
        enc_outputs = valid_lens = None
        if model.encoder is not None:
            enc_outputs = model.encoder(inputs.source, inputs.valid_lens).repeat_interleave(beam, axis=0)
            valid_lens = inputs.valid_lens.repeat_interleave(beam)
        max_steps += inputs.prompt_steps
        self.state = model.decoder.init_state(enc_outputs, valid_lens, max_steps, inputs.left_padding)
        if inputs.prompt is not None:
            _, self.state = model.decoder._hidden_states(inputs.prompt, self.state)
            self.reorder(np.arange(len(inputs.tokens)).repeat(beam))
        self.quick: _Step | None = None
        if not attend:
            self.state = _crossed(model.decoder, self.state)
            self.quick = _Step(model.decoder, self.state)

    def _logits(self, tokens: np.ndarray) -> Tensor:
        column = paddle.to_tensor(tokens, place=self.place).unsqueeze(1)
        if self.quick is not None:
            logits, self.state = self.quick(column, self.state)
        else:
            logits, self.state = self.model.decoder(column, self.state, need_weights=self.attend)
        return suppress(logits[:, 0], self.model.config.suppress_ids)

    @paddle.no_grad()
    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        logits = self._logits(tokens)

        def top(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            best, ids = logits.topk(k)
            # Composed, because Paddle's own log_softmax on the CPU never falls below -64.
            total = (logits - best[:, :1]).exp().sum(axis=-1, keepdim=True).log()
            return best.numpy(), ids.numpy(), (best - best[:, :1] - total).numpy()

        def lowest(rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
            ids = paddle.arange(logits.shape[-1])
            crowded = logits.index_select(paddle.to_tensor(rows, place=self.place))
            tied = crowded == paddle.to_tensor(last, place=self.place).unsqueeze(1)
            return paddle.where(tied, -ids, paddle.full_like(ids, -len(ids))).topk(k)[1].numpy()

        return best_tokens(logits.shape[-1], count, top, lowest)

    @paddle.no_grad()
    def reorder(self, rows: np.ndarray) -> None:
        index = paddle.to_tensor(rows, place=self.place)
        # Cross-attention stays: all rows of one source share it.
        self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(index)) for cache in self.state[2]]

    @paddle.no_grad()
    def attention(self) -> np.ndarray:
        return self.model.decoder.attention_weights[1][-1][:, :, 0].astype("float64").mean(axis=1).numpy()
