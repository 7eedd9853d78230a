"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any
from weakref import WeakKeyDictionary

import mxnet as mx
import numpy as np
from mxnet import autograd, npx
from mxnet import np as mnp

from transformer_mb.decoding import DecodingInputs, greedy_loop
from transformer_mb.ranking import best_tokens
from transformer_mb.sampling import Truncation

from .cache import BlockCache
from .model import EncoderDecoder
from .sampling import drawn, uniforms
from .shim import compiled
from .weights import named_parameters, to_device


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


def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
    decoder = BeamDecoder(model, inputs, max_steps, 1)

    def step(tokens: np.ndarray) -> np.ndarray:
        with autograd.pause(train_mode=False):
            return decoder._logits(tokens).argmax(axis=-1).asnumpy()

    return greedy_loop(step, inputs.tokens.asnumpy(), max_steps, model.config.eos_id, inputs.forced)


def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    numbers = iter(uniforms(inputs.seeds, model.config.max_len, inputs.tokens.ctx).T)

    def step(tokens: np.ndarray) -> np.ndarray:
        with autograd.pause(train_mode=False):
            return drawn(decoder._logits(tokens), next(numbers), truncation).asnumpy()

    return greedy_loop(step, inputs.tokens.asnumpy(), max_steps, model.config.eos_id, inputs.forced)


# What ``shim.compiled`` makes of a model's steps, by position and by what they read; until then, how often it was asked for.
_STEPS: WeakKeyDictionary[EncoderDecoder, dict[Any, Any]] = WeakKeyDictionary()


def _leaves(tree: Any) -> Iterator[mnp.ndarray | None]:
    for part in tree if isinstance(tree, (list, tuple)) else ():
        yield from _leaves(part)
    if not isinstance(tree, (list, tuple)):
        yield tree


def _grown(cache: BlockCache, keys: mnp.ndarray, values: mnp.ndarray) -> BlockCache:
    own = cache.self_attention
    return cache._replace(self_attention=own._replace(length=own.length + 1, key_buffer=keys, value_buffer=values))


class BeamDecoder:
    """The BeamSession of ``transformer_mb.beam_search``."""

    def __init__(self, model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool = False):
        self.model, self.attend = model, attend
        self.parameters = [parameter.value for parameter in named_parameters(model.decoder).values()]
        self.context = inputs.tokens.ctx
        with autograd.pause(train_mode=False):
            enc_outputs = valid_lens = None
            if model.encoder is not None:
                enc_outputs = mnp.repeat(model.encoder(inputs.source, inputs.valid_lens), beam, axis=0)
                valid_lens = mnp.repeat(inputs.valid_lens, beam)
            max_steps += inputs.prompt_steps
            self.state = model.decoder.init_state(enc_outputs, valid_lens, max_steps, inputs.left_padding)
            if inputs.prompt is not None:
                _, self.state = model.decoder._hidden_states(inputs.prompt, self.state)
                self.reorder(np.arange(len(inputs.tokens)).repeat(beam))

    def _logits(self, tokens: np.ndarray) -> mnp.ndarray:
        column = to_device(np.array(tokens)[:, None], self.context)
        caches = self.state[2]
        own, cross = caches[0]
        began = own.length > 0 and (self.state[0] is None or cross is not None)
        step = self._compiled(column, caches) if began and not self.attend else None
        if step is None:
            logits, self.state = self.model.decoder(column, self.state, need_weights=self.attend)
            return suppress(npx.reshape(logits, (-2, -1)), self.model.config.suppress_ids)
        logits, *buffers = step([column, *self._arrays(caches)])
        pairs = zip(caches, buffers[::2], buffers[1::2], strict=True)
        self.state[2] = [_grown(cache, keys, values) for cache, keys, values in pairs]
        return logits

    def _arrays(self, caches: Sequence[BlockCache]) -> list[mnp.ndarray]:
        """All that a step reads beside the token: those that it has from the steps before, then what stays."""
        buffers = [buffer for cache in caches for buffer in (cache.self_attention.keys, cache.self_attention.values)]
        held = [(cache.self_attention.left_padding, cache.cross_attention) for cache in caches]
        return [*buffers, *(array for array in _leaves(held) if array is not None), *self.parameters]

    def _compiled(self, column: mnp.ndarray, caches: Sequence[BlockCache]) -> Any:
        """The step at this position as one operator (four times as fast), from the third time on that it is asked for."""
        steps = _STEPS.setdefault(self.model, {})
        own = caches[0].self_attention
        dtype = np.dtype(own.keys.dtype).name
        key = own.length, own.left_padding is None, self.state[1] is None, dtype, str(self.context)
        asked = steps.setdefault(key, 0)
        if asked in (0, 1):
            steps[key] = asked + 1
        elif asked == 2:

            def imperative() -> list[mnp.ndarray]:
                logits, state = self.model.decoder(column, [*self.state[:2], caches])
                logits = suppress(npx.reshape(logits, (-2, -1)), self.model.config.suppress_ids)
                return [logits, *self._arrays(state[2])[: 2 * len(caches)]]

            steps[key] = compiled(imperative, [column, *self._arrays(caches)], static=False)
        return steps[key] if callable(steps[key]) else None

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        with autograd.pause(train_mode=False):
            logits = self._logits(tokens)
            return best_tokens(logits.shape[-1], count, partial(_top, logits), partial(_lowest, logits))

    def reorder(self, rows: np.ndarray) -> None:
        index = to_device(np.array(rows), self.context)
        # Cross-attention stays: all rows of one source share it.
        self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(index)) for cache in self.state[2]]

    def attention(self) -> np.ndarray:
        return self.model.decoder.attention_weights[1][-1][:, :, 0].asnumpy().astype(np.float64).mean(axis=1)


def _top(logits: mnp.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    best, ids = npx.topk(logits, k=k, ret_typ="both", dtype="int32")
    # MXNet has no take_along_axis to read them from its own log_softmax, which is also 1e-6 off.
    total = mnp.log(mnp.exp(logits - best[:, :1]).sum(axis=-1, keepdims=True))
    return best.asnumpy(), ids.asnumpy().astype(np.int64), (best - best[:, :1] - total).asnumpy()


def _lowest(logits: mnp.ndarray, rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
    size = logits.shape[-1]
    ids = to_device(np.arange(size, dtype=np.float32), logits.ctx)  # exact to 16.8 million
    tied = logits.take(to_device(rows, logits.ctx), axis=0) == to_device(last[:, None], logits.ctx)
    return npx.topk(mnp.where(tied, -ids, mnp.full_like(ids, -size)), k=k, dtype="int32").asnumpy().astype(np.int64)
