"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

from functools import lru_cache, partial

import mxnet as mx
import numpy as np
from mxnet import autograd, npx
from mxnet import np as mnp

from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.decoding.sampling import Truncation
from transformer_mb.decoding.session import EagerSession

from .model import EncoderDecoder
from .shortcuts.calls import arrays_of, calls_of, compiled_call, encode, grown, kind_of, made
from .shortcuts.threads import suit
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
    return BeamDecoder(model, inputs, max_steps, 1).generated(inputs, max_steps, lambda logits: logits.argmax(axis=-1))


def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> np.ndarray:
    numbers = iter(uniforms(inputs.seeds, model.config.max_len, inputs.tokens.ctx).T)
    decoder = BeamDecoder(model, inputs, max_steps, 1)
    return decoder.generated(inputs, max_steps, lambda logits: drawn(logits, next(numbers), truncation))


class BeamDecoder(EagerSession):
    _computing = staticmethod(partial(autograd.pause, train_mode=False))
    _suppress = staticmethod(suppress)

    def _look(self, inputs: DecodingInputs, beam: int) -> None:
        self.parameters = [parameter.value for parameter in named_parameters(self.model.decoder).values()]
        # Asked once for all steps, since it takes as long as some operations.
        self.calls = None if self.attend else calls_of(self.model.decoder, *kind_of(self.parameters))
        self.context = inputs.tokens.ctx

    def _native(self, array: np.ndarray) -> mnp.ndarray:
        return to_device(np.array(array), self.context)

    def _array(self, tensor: mnp.ndarray) -> np.ndarray:
        return tensor.asnumpy()

    def _repeated(self, tensor: mnp.ndarray, beam: int) -> mnp.ndarray:
        return mnp.repeat(tensor, beam, axis=0)

    def _encoded(self, inputs: DecodingInputs) -> mnp.ndarray:
        suit(self.context, inputs.source.size, self.model.config.num_hiddens)
        return encode(self.model, inputs.source, inputs.valid_lens)

    def _all_logits(self, tokens: np.ndarray) -> mnp.ndarray:
        suit(self.context, len(tokens), self.model.config.num_hiddens)
        column = self._native(tokens[:, None])
        state, arrays = self.state, [column, *arrays_of(self.state), *self.parameters]

        def step() -> list[mnp.ndarray]:
            logits, after = self.model.decoder(column, state)
            return [_of_one_step(logits), *made(state[2], after[2])]

        own, cross = state[2][0]
        # Later steps are the same for all batches and sources; the first makes a mask of one form.
        form = state[0].shape if cross is None and state[0] is not None else None
        call = compiled_call(self.calls, (own.length, own.left_padding is None, form), step, arrays)
        if call is None:
            logits, self.state = self.model.decoder(column, state, need_weights=self.attend)
            return _of_one_step(logits)
        logits, *added = call(arrays)
        size = len(added) // len(state[2])
        self.state[2] = [grown(cache, *added[i * size : (i + 1) * size]) for i, cache in enumerate(state[2])]
        return logits

    def _log_softmax(self, logits: mnp.ndarray) -> mnp.ndarray:
        logits = logits - logits.max(axis=-1, keepdims=True)
        return logits - mnp.log(mnp.exp(logits).sum(axis=-1, keepdims=True))

    def _top(self, logits: mnp.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        best, ids = npx.topk(logits, k=k, ret_typ="both", dtype="int32")
        # MXNet has no take_along_axis to read them from its own log_softmax, which is also 1e-6 off.
        total = mnp.log(mnp.exp(logits - best[:, :1]).sum(axis=-1, keepdims=True))
        return best.asnumpy(), ids.asnumpy().astype(np.int64), (best - best[:, :1] - total).asnumpy()

    def _lowest(self, logits: mnp.ndarray, rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
        size = logits.shape[-1]
        ids = self._native(np.arange(size, dtype=np.float32))  # exact to 16.8 million
        tied = logits.take(self._native(rows), axis=0) == self._native(last[:, None])
        return npx.topk(mnp.where(tied, -ids, mnp.full_like(ids, -size)), k=k, dtype="int32").asnumpy().astype(np.int64)


def _of_one_step(logits: mnp.ndarray) -> mnp.ndarray:
    return npx.reshape(logits, (-2, -1))  # [B, 1, V] -> [B, V]


def uniforms(seeds: np.ndarray, steps: int, device: mx.Context) -> mnp.ndarray:
    """[B, steps] float32 below 1, each row by its own seed [B, 2].

    By NumPy: MXNet's one random state is the whole process's, cannot be put back, and takes a millisecond to seed.
    """
    return to_device(np.stack([np.random.default_rng(seed).random(steps, np.float32) for seed in seeds]), device)


def drawn(logits: mnp.ndarray, uniform: mnp.ndarray, truncation: Truncation) -> mnp.ndarray:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    logits = logits if np.dtype(logits.dtype) == np.float64 else npx.cast(logits, dtype="float32")
    size = logits.shape[-1]
    falling = npx.topk(logits, k=size, ret_typ="value")
    weights = mnp.exp((falling - falling[:, :1]) / truncation.temperature)
    weights = weights * (mnp.arange(size, ctx=logits.ctx) < truncation.top_k)
    before = mnp.cumsum(weights, axis=1) - weights
    weights = weights * (before < truncation.top_p * weights.sum(axis=-1, keepdims=True))
    total = mnp.cumsum(weights, axis=1)
    place = _count(total <= uniform.astype(total.dtype)[:, None] * total[:, -1:])
    # Rounding may end the sum a little late, among tokens that were cut.
    place = mnp.minimum(place, _count(weights > 0.0) - 1)
    # MXNet sorts equal logits in any order. The lowest id is the first of them: all that are equal come before the place.
    chosen = npx.pick(falling, place, axis=-1)[:, None]
    equal = mnp.cumsum((logits == chosen).astype("int32"), axis=1)
    return _count(equal <= (place - _count(logits > chosen))[:, None])


def _count(true: mnp.ndarray) -> mnp.ndarray:
    return true.astype("int32").sum(axis=-1)
