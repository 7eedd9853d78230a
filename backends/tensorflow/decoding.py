"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token.

Compiled without fixed sizes, so that one compilation of a model serves sources of any size.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.decoding.sampling import Truncation

from .cache import BlockCache
from .model import EncoderDecoder
from .shortcuts.decoding_steps import DecodingSteps, is_plain
from .weights import named_layers

# Of a layer what a trace keeps and a user may assign: "call" is there where it was patched.
SETTINGS = (
    *("call", "activation", "lora_enabled", "eps", "kind", "num_heads", "num_kv_heads", "pre", "scaled", "sizes"),
    *("scale", "padding_id", "position_offset", "norm_tokens", "compat_decode", "output_scale"),
)


class _Programs:
    """The programs compiled of a model as it is: by the function's name and whatever else makes a program of its own."""

    def __init__(self, model: EncoderDecoder, state: list[Any]):
        self.state, self.plain = state, is_plain(model.decoder)
        self.functions: dict[Any, Callable[..., Any]] = {}


_programs: weakref.WeakKeyDictionary[keras.Model, _Programs] = weakref.WeakKeyDictionary()


def _programs_of(model: EncoderDecoder) -> _Programs:
    """Kept as long as the model, and until more of it changes than the values of its weights."""
    state, programs = _state(model), _programs.get(model)
    if programs is None or programs.state != state:
        programs = _programs[model] = _Programs(model, state)
    return programs


def _state(model: EncoderDecoder) -> list[Any]:
    """List what a trace takes for granted: the config, the layers, each one's class, policy and what ``SETTINGS`` names.

    The layers themselves, not their addresses, which another one might get.
    """
    state: list[Any] = [model.config]
    for part in (model.encoder, model.decoder):
        for path, layer in named_layers(part) if part is not None else ():
            state.append((path, layer, type(layer), layer.dtype_policy.name, *map(vars(layer).get, SETTINGS)))
    return state


def _compile(
    function: Callable[..., Any],
    model: EncoderDecoder,
    programs: _Programs,
    given: Sequence[str] = (),
    signature: list[Any] | None = None,
) -> Callable[..., Any]:
    """``function`` with the model as its first argument, compiled at the first call.

    ``given``: the names of the inputs that the model has, each combination being a program of its own.
    """
    key = (function.__name__, *given)
    if key not in programs.functions:
        bound = partial(function, weakref.proxy(model))
        programs.functions[key] = tf.function(bound, signature, autograph=False, reduce_retracing=True)
    return programs.functions[key]


def suppress(logits: tf.Tensor, token_ids: tuple[int, ...]) -> tf.Tensor:
    if not token_ids:
        return logits
    return tf.where(np.isin(np.arange(logits.shape[-1]), token_ids), tf.cast(-np.inf, logits.dtype), logits)


def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> tf.Tensor:
    return _generated(model, inputs, max_steps)


def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> tf.Tensor:
    numbers = (tf.constant(truncation.temperature), tf.constant(truncation.top_k), tf.constant(truncation.top_p))
    return _generated(model, inputs, max_steps, *numbers)


def _generated(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, *truncation: tf.Tensor) -> tf.Tensor:
    given = {name: tf.cast(value, tf.int64) for name, value in inputs._asdict().items() if value is not None}
    # One row has a program of its own, for its products: see ``row_product``. Through the layers it needs none.
    programs = _programs_of(model)
    rows = 1 if inputs.tokens.shape[0] == 1 and programs.plain else None
    sizes = {name: tf.TensorSpec([rows, *[None] * (value.shape.rank - 1)], tf.int64) for name, value in given.items()}
    numbers = [tf.TensorSpec((), number.dtype) for number in truncation]
    signature = [sizes, tf.TensorSpec((), tf.int32), *numbers]
    decode = _compile(_generate, model, programs, (*given, f"rows {rows}"), signature)
    return decode(given, tf.constant(max_steps), *truncation)


def _generate(model: EncoderDecoder, given: dict[str, tf.Tensor], max_steps: tf.Tensor, *truncation: tf.Tensor) -> tf.Tensor:
    config, inputs = model.config, DecodingInputs(**given)
    numbers = uniforms(inputs.seeds, config.max_len) if truncation else None

    def chosen(logits: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
        if truncation:
            tokens = drawn(logits, numbers[:, count], Truncation(*truncation))
        else:
            # Not argmax, whose operation guarantees nothing on ties.
            tokens = tf.cast(tf.math.top_k(logits, 1)[1][:, 0], tf.int64)
        if inputs.forced is None:
            return tokens
        return tf.where(inputs.forced[:, count] >= 0, inputs.forced[:, count], tokens)

    def unfinished(count: tf.Tensor, tokens: tf.Tensor, finished: tf.Tensor, generated: tf.TensorArray, _: Any) -> Any:
        return (count < max_steps) & ~tf.reduce_all(finished)

    def further(count: tf.Tensor, tokens: tf.Tensor, finished: tf.Tensor, generated: tf.TensorArray, memory: Any) -> Any:
        logits, memory = advance(tokens, count, memory)
        tokens = chosen(suppress(logits, config.suppress_ids), count)
        generated = generated.write(count, tokens)
        return count + 1, tokens, finished | (tokens == config.eos_id), generated, memory

    generated = tf.TensorArray(tf.int64, max_steps, element_shape=(None,))
    advance, memory = _steps(model, inputs, max_steps)
    variables = tf.constant(0), inputs.tokens, tf.zeros_like(inputs.tokens, tf.bool), generated, memory
    count, _, _, generated, _ = tf.while_loop(unfinished, further, variables)
    return tf.transpose(generated.gather(tf.range(count)))


def _steps(model: EncoderDecoder, inputs: DecodingInputs, max_steps: tf.Tensor) -> tuple[Callable[..., Any], list[tf.Tensor]]:
    """Return a function from tokens [B], a step's number and memory to logits and new memory; and the first memory."""
    start = _start(model, inputs, max_steps, 1)
    if is_plain(model.decoder):
        past = 0 if inputs.prompt is None else tf.shape(inputs.prompt)[1]
        enc_outputs, valid_lens, caches = start
        steps = DecodingSteps(model.decoder, enc_outputs, valid_lens, caches, inputs.tokens, max_steps + past)
        return steps.logits, steps.buffers
    start = _complete(model, inputs, start) if inputs.prompt is None else start

    def through_layers(tokens: tf.Tensor, count: tf.Tensor, tensors: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        logits, state = model.decoder(tokens[:, None], _with_tensors(start, tensors), training=False)
        return logits[:, 0], _tensors(state)

    return through_layers, _tensors(start)


def _tensors(state: list[Any]) -> list[tf.Tensor]:
    """A loop carries no None."""
    return [leaf for leaf in tf.nest.flatten(state) if leaf is not None]


def _with_tensors(state: list[Any], tensors: list[tf.Tensor]) -> list[Any]:
    remaining = iter(tensors)
    return tf.nest.map_structure(lambda leaf: None if leaf is None else next(remaining), state)


def _start(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int | tf.Tensor, beam: int) -> list[Any]:
    """The decoder's state before the first step."""
    enc_outputs = valid_lens = None
    if model.encoder is not None:
        enc_outputs = tf.repeat(model.encoder(inputs.source, inputs.valid_lens, training=False), beam, axis=0)
        valid_lens = tf.repeat(inputs.valid_lens, beam)
    if inputs.prompt is None:
        return model.decoder.init_state(enc_outputs, valid_lens, max_steps)
    max_steps += tf.shape(inputs.prompt)[1]
    state = model.decoder.init_state(enc_outputs, valid_lens, max_steps, inputs.left_padding)
    _, state = model.decoder(inputs.prompt, state, training=False)
    return _reordered(state, tf.repeat(tf.range(tf.shape(inputs.tokens)[0]), beam))


def _complete(model: EncoderDecoder, inputs: DecodingInputs, state: list[Any], beam: int = 1) -> list[Any]:
    """Allocate and project all of a state, as a loop wants it: a first step outside would be traced too."""
    enc_outputs, valid_lens, caches = state
    sizes = tf.shape(inputs.tokens)[0] * beam, 1, model.config.num_hiddens
    step = tf.zeros(sizes, model.decoder.compute_dtype)  # of any numbers: only its form is looked at
    complete = []
    for block, cache in zip(model.decoder.blks, caches, strict=True):
        own = cache.self_attention._allocated(block.attention1.project_keys_values(step, step)[0])
        crossing = enc_outputs is not None and block.attention2 is not None
        cross = block.attention2.project_keys_values(enc_outputs, enc_outputs) if crossing else None
        complete.append(BlockCache(own, cross))
    return [enc_outputs, valid_lens, complete]


def _reordered(state: list[Any], rows: tf.Tensor) -> list[Any]:
    # Cross-attention stays: all rows of one source share it.
    caches = [cache._replace(self_attention=cache.self_attention.reorder(rows)) for cache in state[2]]
    return [*state[:2], caches]


class BeamDecoder:
    """The BeamSession of ``transformer_mb.decoding.session``."""

    def __init__(self, model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool = False):
        self.model = model
        # What is compiled keeps no weights.
        self.run = partial(_beam_step, model, attend=True) if attend else _compile(_beam_step, model, _programs_of(model))
        start = _start(model, inputs, max_steps, beam)
        # Complete, or the first step would be a program of its own.
        self.state = _complete(model, inputs, start, beam) if inputs.prompt is None else start

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        best, ids, *_ = self._stepped(tokens, count)
        return best.numpy().astype(np.float64), ids.numpy()

    def log_probabilities(self, tokens: np.ndarray) -> np.ndarray:
        return self._stepped(tokens, 1)[2].numpy()

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        return self._stepped(tokens, 1)[3].numpy()

    def _stepped(self, tokens: np.ndarray, count: int) -> tuple[tf.Tensor, ...]:
        # Of one dtype: the first tokens come as int64, those that a step has chosen as int32.
        column = tf.constant(tokens, tf.int32)[:, None]
        *answers, self.state = self.run(column, self.state, tf.constant(count))
        return tuple(answers)

    def reorder(self, rows: np.ndarray) -> None:
        self.state = _reordered(self.state, tf.constant(rows))

    def attention(self) -> np.ndarray:
        weights = self.model.decoder.attention_weights[1][-1][:, :, 0]
        return tf.reduce_mean(tf.cast(weights, tf.float64), axis=1).numpy()


def _beam_step(
    model: EncoderDecoder, tokens: tf.Tensor, state: list[Any], count: tf.Tensor, attend: bool = False
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, Any]:
    """The ``count`` best log-probabilities, their ids, all in the order of the ids, every logit as it came, and the state."""
    logits, state = model.decoder(tokens, state, need_weights=attend, training=False)
    every = tf.cast(logits, tf.float32) if logits.dtype in (tf.bfloat16, tf.float16) else logits
    every = every[:, 0]
    logits = suppress(every, model.config.suppress_ids)
    # Which promises the lower id first.
    _, ids = tf.math.top_k(logits, tf.minimum(count, logits.shape[-1]))
    log_probs = tf.nn.log_softmax(logits)
    return tf.gather(log_probs, ids, batch_dims=1), ids, log_probs, every, state


def uniforms(seeds: tf.Tensor, steps: int) -> tf.Tensor:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]."""

    def row(seed: tf.Tensor) -> tf.Tensor:
        return tf.random.stateless_uniform((steps,), seed)

    return tf.map_fn(row, seeds, fn_output_signature=tf.TensorSpec((steps,), tf.float32))


def drawn(logits: tf.Tensor, uniform: tf.Tensor, truncation: Truncation) -> tf.Tensor:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    logits = tf.cast(logits, tf.float32) if logits.dtype in (tf.bfloat16, tf.float16) else logits
    falling, ids = tf.math.top_k(logits, logits.shape[-1])  # which promises the lower id first
    weights = tf.exp((falling - falling[:, :1]) / tf.cast(truncation.temperature, logits.dtype))
    weights = tf.where(tf.range(logits.shape[-1]) < truncation.top_k, weights, 0.0)
    before = tf.cumsum(weights, axis=-1, exclusive=True)
    share = tf.cast(truncation.top_p, logits.dtype)
    weights = tf.where(before < share * tf.reduce_sum(weights, axis=-1, keepdims=True), weights, 0.0)
    total = tf.cumsum(weights, axis=-1)
    place = tf.math.count_nonzero(total <= tf.cast(uniform, total.dtype)[:, None] * total[:, -1:], axis=-1)
    # Rounding may end the sum a little late, among tokens that were cut.
    place = tf.minimum(place, tf.math.count_nonzero(weights, axis=-1) - 1)
    return tf.cast(tf.gather(ids, place, batch_dims=1), tf.int64)
