"""Cached decoding: the source is encoded once, and each step computes one token.

Compiled without fixed sizes, so that one compilation of a model serves sources of any size.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .model import EncoderDecoder

_compiled: weakref.WeakKeyDictionary[keras.Model, dict[str, Callable[..., Any]]] = weakref.WeakKeyDictionary()


def _compile(function: Callable[..., Any], model: EncoderDecoder, signature: list[tf.TensorSpec] | None) -> Callable[..., Any]:
    """``function`` with the model as its first argument, compiled at the first call and kept as long as the model."""
    functions = _compiled.setdefault(model, {})
    if function.__name__ not in functions:
        bound = partial(function, weakref.proxy(model))
        functions[function.__name__] = tf.function(bound, signature, autograph=False, reduce_retracing=True)
    return functions[function.__name__]


def suppress(logits: tf.Tensor, token_ids: tuple[int, ...]) -> tf.Tensor:
    if not token_ids:
        return logits
    return tf.where(np.isin(np.arange(logits.shape[-1]), token_ids), tf.cast(-np.inf, logits.dtype), logits)


def greedy(model: EncoderDecoder, source: tf.Tensor, valid_lens: tf.Tensor, max_steps: int) -> tf.Tensor:
    signature = [tf.TensorSpec((None, None), tf.int64), tf.TensorSpec((None,), tf.int64), tf.TensorSpec((), tf.int32)]
    decode = _compile(_greedy, model, signature)
    return decode(tf.cast(source, tf.int64), tf.cast(valid_lens, tf.int64), tf.constant(max_steps))


def _greedy(model: EncoderDecoder, source: tf.Tensor, valid_lens: tf.Tensor, max_steps: tf.Tensor) -> tf.Tensor:
    config = model.config
    state = model.decoder.init_state(model.encoder(source, valid_lens, training=False), valid_lens, max_steps)

    def step(count: tf.Tensor, tokens: tf.Tensor, finished: tf.Tensor, generated: tf.TensorArray, state: Any) -> Any:
        logits, state = model.decoder(tokens[:, None], state, training=False)
        tokens = tf.argmax(suppress(logits[:, 0], config.suppress_ids), axis=-1)
        generated = generated.write(count, tokens)
        return count + 1, tokens, finished | (tokens == config.eos_id), generated, state

    def unfinished(count: tf.Tensor, tokens: tf.Tensor, finished: tf.Tensor, generated: tf.TensorArray, state: Any) -> Any:
        return (count < max_steps) & ~tf.reduce_all(finished)

    start = tf.fill(tf.shape(source)[:1], tf.constant(config.start_id, tf.int64))
    generated = tf.TensorArray(tf.int64, max_steps, element_shape=(None,))
    # The first step, outside the loop, allocates the buffers and projects the encoder's output.
    first = step(tf.constant(0), start, tf.zeros_like(start, tf.bool), generated, state)
    count, _, _, generated, _ = tf.while_loop(unfinished, step, first)
    return tf.transpose(generated.gather(tf.range(count)))


class BeamDecoder:
    """The BeamSession of ``transformer_mb.beam_search``."""

    def __init__(self, model: EncoderDecoder, source: tf.Tensor, valid_lens: tf.Tensor, max_steps: int, beam: int):
        enc_outputs = tf.repeat(model.encoder(source, valid_lens, training=False), beam, axis=0)
        self.model = model
        self.state = model.decoder.init_state(enc_outputs, tf.repeat(valid_lens, beam), max_steps)

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        column = tf.constant(tokens)[:, None]
        best, ids, self.state = _compile(_beam_step, self.model, None)(column, self.state, tf.constant(count))
        return best.numpy().astype(np.float64), ids.numpy()

    def reorder(self, rows: np.ndarray) -> None:
        index = tf.constant(rows)
        # Cross-attention stays: all rows of one source share it.
        self.state[2] = [cache._replace(self_attention=cache.self_attention.reorder(index)) for cache in self.state[2]]


def _beam_step(
    model: EncoderDecoder, tokens: tf.Tensor, state: list[Any], count: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, Any]:
    logits, state = model.decoder(tokens, state, training=False)
    logits = suppress(logits[:, 0], model.config.suppress_ids)
    logits = tf.cast(logits, tf.float32) if logits.dtype in (tf.bfloat16, tf.float16) else logits
    best, ids = tf.math.top_k(tf.nn.log_softmax(logits), tf.minimum(count, logits.shape[-1]))
    return best, ids, state
