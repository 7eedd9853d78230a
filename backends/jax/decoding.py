"""Cached decoding: the source is encoded once, or a prompt is fed at once, and each step computes one token."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from transformer_mb.decoding.inputs import DecodingInputs, room
from transformer_mb.decoding.sampling import Truncation

from .cache import BlockCache
from .model import EncoderDecoder
from .shortcuts.compilation import Program
from .shortcuts.compiled import Structure, product_precision, split


def suppress(logits: Array, token_ids: tuple[int, ...]) -> Array:
    return logits.at[..., jnp.asarray(token_ids)].set(-jnp.inf) if token_ids else logits


def greedy(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int) -> Array:
    return _generated(model, inputs, max_steps, None)


def sample(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation) -> Array:
    return _generated(model, inputs, max_steps, truncation)


def _generated(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, truncation: Truncation | None) -> Array:
    size = room(max_steps, model.config.max_len - inputs.prompt_steps)
    if inputs.forced is not None:
        free = np.full((len(inputs.forced), size - inputs.forced.shape[1]), -1)
        inputs = inputs._replace(forced=np.concatenate([inputs.forced, free], axis=1))
    return _generate(*split(model), inputs, size, max_steps, truncation)


@partial(Program, decodes=True, static_argnums=(0, 3))
def _generate(
    structure: Structure,
    values: dict[str, Array],
    inputs: DecodingInputs,
    size: int,
    max_steps: Array,
    truncation: Truncation | None,
) -> Array:
    """The whole loop on the device, compiled once for the inputs' sizes and the ``size`` of what at most max_steps fill."""
    model = structure.module(values)
    model.eval()
    config = model.config
    rows = inputs.tokens.shape[0]
    numbers = None if truncation is None else uniforms(inputs.seeds, config.max_len)

    def chosen(logits: Array, step: Array) -> Array:
        tokens = logits.argmax(axis=-1) if truncation is None else drawn(logits, numbers[:, step], truncation)
        if inputs.forced is None:
            return tokens
        return jnp.where(inputs.forced[:, step] >= 0, inputs.forced[:, step], tokens)

    def unfinished(carry: Any) -> Array:
        step, _, finished, _, _ = carry
        return (step < max_steps) & ~finished.all()

    def advance(carry: Any) -> Any:
        step, tokens, finished, generated, state = carry
        logits, state = model.decoder(tokens, state)
        tokens = chosen(suppress(logits[:, 0], config.suppress_ids), step).astype(tokens.dtype)[:, None]
        generated = jax.lax.dynamic_update_slice_in_dim(generated, tokens, step, axis=1)
        return step + 1, tokens, finished | (tokens[:, 0] == config.eos_id), generated, state

    with product_precision():
        state = _start(model, inputs, size)
        tokens = inputs.tokens[:, None].astype(jnp.int32)
        generated = jnp.full((rows, size), config.eos_id, jnp.int32)
        carry = (0, tokens, jnp.zeros(rows, bool), generated, state)
        return jax.lax.while_loop(unfinished, advance, carry)[3]


def _start(model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, beam: int = 1) -> list[Any]:
    """The decoder's state, with nothing left to allocate or to project: a compiled loop's shapes must stay."""
    decoder, enc_outputs, valid_lens = model.decoder, None, None
    rows = jnp.repeat(jnp.arange(inputs.tokens.shape[0]), beam)
    if model.encoder is not None:
        enc_outputs, valid_lens = model.encoder(inputs.source, inputs.valid_lens)[rows], inputs.valid_lens[rows]
    state = decoder.init_state(enc_outputs, valid_lens, inputs.prompt_steps + max_steps, inputs.left_padding)
    if inputs.prompt is not None:
        _, state = decoder(inputs.prompt, state)
        return _reordered(state, rows)
    step = decoder.embed(inputs.tokens[rows, None])
    for i, block in enumerate(decoder.blks):
        own = state[2][i].self_attention.append(*block.attention1.project_keys_values(step, step))
        own = replace(own, length=0)  # only its buffers are wanted
        crossing = enc_outputs is not None and block.attention2 is not None
        cross = block.attention2.project_keys_values(enc_outputs, enc_outputs) if crossing else None
        state[2][i] = BlockCache(own, cross)
    return state


def _reordered(state: list[Any], rows: Array) -> list[Any]:
    # Cross-attention stays: all rows of one source share it.
    caches = [cache._replace(self_attention=cache.self_attention.reorder(rows)) for cache in state[2]]
    return [*state[:2], caches]


class BeamDecoder:
    """The BeamSession of ``transformer_mb.decoding.session``."""

    def __init__(self, model: EncoderDecoder, inputs: DecodingInputs, max_steps: int, beam: int, attend: bool = False):
        self.structure, self.values = split(model)
        size = room(max_steps, model.config.max_len - inputs.prompt_steps)
        self.state = _begin(self.structure, self.values, inputs._replace(forced=None), size, beam)
        self.rows = np.arange(inputs.tokens.shape[0] * beam)
        self.attend = attend

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        best, ids = self._stepped(tokens, count)
        return np.asarray(best, np.float64), np.asarray(ids)

    def log_probabilities(self, tokens: np.ndarray) -> np.ndarray:
        return np.asarray(self._stepped(tokens, None)[0])

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        return np.asarray(self._stepped(tokens, 0)[0])

    def _stepped(self, tokens: np.ndarray, count: int | None) -> tuple[Array, Array | None]:
        column = tokens[:, None].astype(np.int32)
        given = self.structure, self.values, self.state, self.rows, column, count, self.attend
        best, ids, self.weights, self.state = _beam_step(*given)
        self.rows = np.arange(len(tokens))
        return best, ids

    def reorder(self, rows: np.ndarray) -> None:
        # Done by the next step, so that each token costs one call of the device.
        self.rows = self.rows[rows]

    def attention(self) -> np.ndarray:
        return np.asarray(self.weights, np.float64)


@partial(Program, decodes=True, static_argnums=(0, 3, 4))
def _begin(structure: Structure, values: dict[str, Array], inputs: DecodingInputs, max_steps: int, beam: int) -> list[Any]:
    model = structure.module(values)
    model.eval()
    with product_precision():
        return _start(model, inputs, max_steps, beam)


@partial(Program, decodes=True, static_argnums=(0, 5, 6), donate_argnums=2)
def _beam_step(
    structure: Structure,
    values: dict[str, Array],
    state: list[Any],
    rows: Array,
    tokens: Array,
    count: int | None,
    attend: bool,
) -> tuple[Array, Array | None, Array | None, list[Any]]:
    """The ``count`` best log-probabilities and their ids, or all in the order of the ids; and what is attended to.

    Of a ``count`` of 0 all logits instead, before any is suppressed.
    """
    model = structure.module(values)
    model.eval()
    with product_precision():
        logits, state = model.decoder(tokens, _reordered(state, rows), need_weights=attend)
    logits = logits[:, 0].astype(jnp.promote_types(logits.dtype, jnp.float32))
    weights = model.decoder.attention_weights[1][-1][:, :, 0].mean(axis=1, dtype=logits.dtype) if attend else None
    if count == 0:
        return logits, None, weights, state
    logits = suppress(logits, model.config.suppress_ids)
    log_probs = jax.nn.log_softmax(logits)
    if count is None:
        return log_probs, None, weights, state
    # top_k promises the lower id first, but takes -0.0 for less than 0.0.
    _, ids = jax.lax.top_k(jnp.where(logits == 0.0, 0.0, logits), min(count, logits.shape[-1]))
    return jnp.take_along_axis(log_probs, ids, axis=-1), ids, weights, state


def uniforms(seeds: Array, steps: int) -> Array:
    """[B, steps] float32 below 1, each row by its own seed [B, 2]."""

    def row(seed: Array) -> Array:
        return jax.random.uniform(jax.random.wrap_key_data(seed, impl="threefry2x32"), (steps,), jnp.float32)

    return jax.vmap(row)(seeds.astype(jnp.uint32))


def drawn(logits: Array, uniform: Array, truncation: Truncation) -> Array:
    """Ids [B] by logits [B, V] and numbers [B]: the first of the likeliest whose probabilities sum to more than the number."""
    logits = logits.astype(jnp.promote_types(logits.dtype, jnp.float32))
    ids = jnp.argsort(logits, axis=-1, stable=True, descending=True)  # of equal logits the lowest id first
    falling = jnp.take_along_axis(logits, ids, axis=-1)
    weights = jnp.exp((falling - falling[:, :1]) / truncation.temperature)
    weights = jnp.where(jnp.arange(weights.shape[-1]) < truncation.top_k, weights, 0.0)
    before = jnp.cumsum(weights, axis=-1) - weights
    weights = jnp.where(before < truncation.top_p * weights.sum(axis=-1, keepdims=True), weights, 0.0)
    total = jnp.cumsum(weights, axis=-1)
    place = (total <= uniform[:, None] * total[:, -1:]).sum(axis=-1)
    # Rounding may end the sum a little late, among tokens that were cut.
    place = jnp.minimum(place, (weights > 0.0).sum(axis=-1) - 1)
    return jnp.take_along_axis(ids, place[:, None], axis=-1)[:, 0]
