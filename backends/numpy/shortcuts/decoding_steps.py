"""Decoding steps on prepared weights: what the decoder's layers compute of one token in each row, without asking each time.

Checks and memories of every layer take Python longer than the processor takes for the sums of a few rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from transformer_mb.decoding.through import through

from ..cache import BlockCache
from ..decoder import DecoderBlock, TransformerDecoder
from .prepared_layers import Hidden, added, attend, heads, norm, product


class DecodingSteps:
    """Steps of ``rows`` = B * beam rows, from what the decoder's caches hold of earlier ones.

    Args:
        enc_outputs: [B, S, D], None for a decoder alone. hidden: of its steps. max_steps: of the caches.
    """

    def __init__(
        self,
        decoder: TransformerDecoder,
        enc_outputs: np.ndarray | None,
        hidden: Hidden | None,
        caches: list[BlockCache | None],
        rows: int,
        max_steps: int,
    ):
        self.embedding = decoder.embedding.weight.value
        dtype = self.embedding.dtype
        self.scale = np.full((1, self.embedding.shape[1]), decoder.scale, dtype)
        self.table = None if decoder.pos_embedding is None else decoder.pos_embedding.weight.value
        if decoder.pos_encoding is not None:
            self.table = decoder.pos_encoding._table(self.embedding)
        self.position_offset, self.output_scale = decoder.position_offset, decoder.output_scale
        self.moving = decoder.compat_decode != "d2l"  # the book's predictor feeds one token at a time, each at position 0
        self.length, _, _, _, self.left_padding = caches[0].self_attention
        self.own_hidden = None
        if self.left_padding is not None:  # [N, 1, 1, max_steps]
            self.own_hidden = added(np.arange(max_steps) >= self.left_padding[:, None, None, None], dtype)
        blocks = zip(decoder.blks, caches, strict=True)
        self.blocks = [BlockSteps(block, enc_outputs, hidden, cache, rows, max_steps) for block, cache in blocks]
        normed = decoder.embedding_norm, None
        self.token_norm, self.embedding_norm = (norm(one, dtype) for one in (normed if decoder.norm_tokens else normed[::-1]))
        self.norm = norm(decoder.norm, dtype)
        self.dense = product(rows, decoder.dense)

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        """[N] -> [N, V]."""
        place = self.position_offset + (self.length if self.moving else 0)
        X = self.embedding.take(tokens, axis=0)
        X *= self.scale
        X = self.token_norm(X)
        if self.table is not None:
            # [1, D], or [N, D] where rows begin at different steps.
            padding = self.left_padding
            X += self.table[place : place + 1] if padding is None else self.table[np.maximum(place - padding, 0)]
        X = self.embedding_norm(X)
        own_hidden = None if self.own_hidden is None else self.own_hidden[..., : self.length + 1]
        for block in self.blocks:
            X = block.step(X, self.length, own_hidden)
        self.length += 1
        X = self.norm(X)
        return np.ascontiguousarray(self.dense(X if self.output_scale == 1.0 else X * self.output_scale))

    def reorder(self, rows: np.ndarray) -> None:
        """Row r continues from what was row ``rows[r]``; the encoder's part stays, which all rows of a source share."""
        if self.left_padding is not None:
            self.left_padding, self.own_hidden = self.left_padding[rows], self.own_hidden[rows]
        for block in self.blocks:
            for buffer in (block.keys, block.values):
                buffer[:, :, : self.length] = buffer[rows, :, : self.length]


class BlockSteps:
    """A decoder block's steps, with buffers [N, G, max_steps, D/H] of its keys, divided by sqrt(D/H), and of its values."""

    def __init__(
        self,
        block: DecoderBlock,
        enc_outputs: np.ndarray | None,
        hidden: Hidden | None,
        cache: BlockCache,
        rows: int,
        max_steps: int,
    ):
        own, cross, ffn = block.attention1, block.attention2, block.ffn
        weight, width, few = own.W_q.weight.value, own._width, own.num_kv_heads
        self.scale = own.attention._factor(width)
        self.project, self.output = heads(rows, width, own.W_q, own.W_k, own.W_v), product(rows, own.W_o)
        self.rotary = own.rotary
        self.grouped = rows, few, -1, width  # of queries [N, G, H/G, D/H]: heads that ask the same keys
        self.keys, self.values = cache.self_attention.key_buffer, cache.self_attention.value_buffer
        if self.keys is None:
            self.keys = np.empty((rows, few, max_steps, width), weight.dtype)
            self.values = np.empty_like(self.keys)
        else:
            self.keys[:, :, : cache.self_attention.length] *= self.scale
        self.cross = None
        if cross is not None and enc_outputs is not None:
            B, S, D = enc_outputs.shape
            parts = heads(B * S, width, cross.W_k, cross.W_v)(enc_outputs.reshape(B * S, D))
            keys, values = (part.reshape(B, S, few, width).swapaxes(1, 2) for part in parts)  # [B, G, S, D/H]
            keys *= self.scale
            if hidden is not None:
                values *= hidden.values
            self.hidden = None if hidden is None else hidden.scores
            self.cross = keys, values, product(rows, cross.W_q), product(rows, cross.W_o)
        self.inner, self.dense2 = ffn._inner(partial(product, rows)), product(rows, ffn.dense2)
        norms = block.addnorm1, block.addnorm2, block.addnorm3
        self.pre = block.addnorm1.pre
        self.norms = [norm(None if add_norm is None else add_norm.ln, weight.dtype) for add_norm in norms]

    def step(self, X: np.ndarray, t: int, own_hidden: np.ndarray | None) -> np.ndarray:
        """[N, D] -> [N, D], the token of step ``t``."""
        source = None if self.cross is None else self._attend_source
        return through(X, (lambda X: self._attend_own(X, t, own_hidden), source, self._feed_forward), self.norms, self.pre)

    def _attend_own(self, X: np.ndarray, t: int, hidden: np.ndarray | None) -> np.ndarray:
        q, k, v = self.project(X)
        if self.rotary is not None:  # a step in each row
            q, k = (self.rotary.forward(part[:, :, None], t)[:, :, 0] for part in (q, k))
        np.multiply(k, self.scale, out=self.keys[:, :, t])
        self.values[:, :, t] = v
        past = slice(t + 1)
        Y = attend(q.reshape(self.grouped), self.keys[:, :, past], self.values[:, :, past], hidden)
        return self.output(Y.reshape(len(X), -1))

    def _attend_source(self, X: np.ndarray) -> np.ndarray:
        keys, values, query, output = self.cross
        B, G, _, width = keys.shape
        q, beam = query(X), len(X) // B
        if beam == 1:
            return output(attend(q.reshape(B, G, -1, width), keys, values, self.hidden).reshape(B, -1))
        # The hypotheses of a source ask the same keys: [B, beam, H, D/H] -> [B, G, H/G * beam, D/H].
        q = q.reshape(B, beam, -1, width).swapaxes(1, 2).reshape(B, G, -1, width)
        return output(attend(q, keys, values, self.hidden).reshape(B, -1, beam, width).swapaxes(1, 2).reshape(len(X), -1))

    def _feed_forward(self, X: np.ndarray) -> np.ndarray:
        return self.dense2(self.inner(X))
