"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any
from weakref import WeakKeyDictionary

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, npx
from mxnet import np as mnp

from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.decoding.sampling import Truncation
from transformer_mb.decoding.session import EagerSession

from .cache import BlockCache
from .model import EncoderDecoder
from .sampling import drawn, uniforms
from .shim import compiled
from .threads import suit
from .watched import settings_within
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


# Of an encoder or decoder, as long as its settings are these: what ``shim.compiled`` makes of its calls, by the shapes and
# lengths that they depend on; until then, how often it was asked for.
_CALLS: WeakKeyDictionary[gluon.Block, tuple[list[Any], dict[Any, Any]]] = WeakKeyDictionary()
_MOST_CALLS = 1000


def _calls(side: gluon.Block, *settings: Any) -> dict[Any, Any] | None:
    """What is known of the calls of one side; None where its layers are to be called each time."""
    now = settings_within(side)
    if now is None:
        return None
    now += settings
    if side not in _CALLS or _CALLS[side][0] != now:
        _CALLS[side] = now, {}
    return _CALLS[side][1]


def _compiled(calls: dict[Any, Any] | None, key: Any, function: Callable[[], Any], arrays: Sequence[mnp.ndarray]) -> Any:
    """``function`` as one operator, from the third time on that it is asked for; before that, and where none can be, None."""
    if calls is None:
        return None
    if len(calls) > _MOST_CALLS:
        calls.clear()
    known = calls.get(key, 0)
    if known in (0, 1):
        calls[key] = known + 1
        return None
    if known == 2:
        known = calls[key] = compiled(function, arrays, static=False)
    return known if callable(known) else None


def _arrays(tree: Any) -> Iterator[mnp.ndarray]:
    if isinstance(tree, (list, tuple)):
        for part in tree:
            yield from _arrays(part)
    elif isinstance(tree, mnp.ndarray):
        yield tree


def _kind(parameters: Sequence[mnp.ndarray]) -> tuple[str, str]:
    """What changes where a model is cast or moved."""
    return np.dtype(parameters[0].dtype).name, str(parameters[0].ctx)


def _made(before: Sequence[BlockCache], after: Sequence[BlockCache]) -> Iterator[mnp.ndarray]:
    """What a step adds to each block's memory: keys and values, and of the first step those of the encoder."""
    for old, new in zip(before, after, strict=True):
        yield from (new.self_attention.keys, new.self_attention.values)
        if old.cross_attention is None:
            yield from _arrays(new.cross_attention)


def _grown(cache: BlockCache, keys: mnp.ndarray, values: mnp.ndarray, *cross: mnp.ndarray) -> BlockCache:
    own = cache.self_attention._replace(length=keys.shape[2], key_buffer=keys, value_buffer=values)
    return BlockCache(own, (*cross[:2], cross[2:]) if cross else cache.cross_attention)


def _encoded(model: EncoderDecoder, source: mnp.ndarray, valid_lens: mnp.ndarray) -> mnp.ndarray:
    parameters = [parameter.value for parameter in named_parameters(model.encoder).values()]
    arrays = [source, valid_lens, *parameters]
    calls = _calls(model.encoder, *_kind(parameters))
    call = _compiled(calls, source.shape, lambda: model.encoder(source, valid_lens), arrays)
    return model.encoder(source, valid_lens) if call is None else call(arrays)


class BeamDecoder(EagerSession):
    _computing = staticmethod(partial(autograd.pause, train_mode=False))
    _suppress = staticmethod(suppress)

    def _look(self, inputs: DecodingInputs, beam: int) -> None:
        self.parameters = [parameter.value for parameter in named_parameters(self.model.decoder).values()]
        # Asked once for all steps, since it takes as long as some operations.
        self.calls = None if self.attend else _calls(self.model.decoder, *_kind(self.parameters), self.suppressed)
        self.context = inputs.tokens.ctx

    def _native(self, array: np.ndarray) -> mnp.ndarray:
        return to_device(np.array(array), self.context)

    def _array(self, tensor: mnp.ndarray) -> np.ndarray:
        return tensor.asnumpy()

    def _repeated(self, tensor: mnp.ndarray, beam: int) -> mnp.ndarray:
        return mnp.repeat(tensor, beam, axis=0)

    def _encoded(self, inputs: DecodingInputs) -> mnp.ndarray:
        suit(self.context, inputs.source.size, self.model.config.num_hiddens)
        return _encoded(self.model, inputs.source, inputs.valid_lens)

    def _logits(self, tokens: np.ndarray) -> mnp.ndarray:
        suit(self.context, len(tokens), self.model.config.num_hiddens)
        column = self._native(tokens[:, None])
        state, arrays = self.state, [column, *_arrays(self.state), *self.parameters]

        def step() -> list[mnp.ndarray]:
            logits, after = self.model.decoder(column, state)
            return [self._allowed(logits), *_made(state[2], after[2])]

        own, cross = state[2][0]
        # Later steps are the same for all batches and sources; the first makes a mask of one form.
        form = state[0].shape if cross is None and state[0] is not None else None
        call = _compiled(self.calls, (own.length, own.left_padding is None, form), step, arrays)
        if call is None:
            logits, self.state = self.model.decoder(column, state, need_weights=self.attend)
            return self._allowed(logits)
        logits, *made = call(arrays)
        size = len(made) // len(state[2])
        self.state[2] = [_grown(cache, *made[i * size : (i + 1) * size]) for i, cache in enumerate(state[2])]
        return logits

    def _allowed(self, logits: mnp.ndarray) -> mnp.ndarray:
        return suppress(npx.reshape(logits, (-2, -1)), self.suppressed)  # [B, 1, V] -> [B, V]

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
