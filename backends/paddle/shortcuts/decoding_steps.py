"""Decoding steps on prepared weights: what the decoder's layers compute of one token in each row, without asking each time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import paddle
import paddle.nn.functional as F
from paddle import Tensor

from transformer_mb.decoding.through import through

from ..cache import BlockCache
from ..decoder import DecoderBlock, TransformerDecoder
from .prepared_layers import Hidden, attend, norm, positions, product, projections, reshape, swap_axes


class DecodingSteps:
    """Steps of rows N = B * beam, from what the decoder's caches hold of earlier ones.

    Args:
        enc_outputs: [B, S, D], None for a decoder alone. hidden: of its steps. max_steps: of the caches.
    """

    def __init__(
        self,
        decoder: TransformerDecoder,
        enc_outputs: Tensor | None,
        hidden: Hidden | None,
        caches: list[BlockCache],
        max_steps: int,
    ):
        self.embedding, self.scale, self.table = decoder.embedding.weight, decoder.scale, positions(decoder)
        self.position_offset, self.output_scale = decoder.position_offset, decoder.output_scale
        self.moving = decoder.compat_decode != "d2l"  # the book's predictor feeds one token at a time, each at position 0
        self.length, _, _, _, self.left_padding = caches[0].self_attention
        self.own_hidden = None  # [N, 1, 1, max_steps]
        if self.left_padding is not None:
            before = paddle.arange(max_steps) < self.left_padding.reshape([-1, 1, 1, 1])
            self.own_hidden = before.astype(self.embedding.dtype) * paddle.finfo(self.embedding.dtype).min
        blocks: Iterable[Any] = decoder.blks
        self.blocks = [BlockSteps(block, enc_outputs, hidden, cache) for block, cache in zip(blocks, caches, strict=True)]
        dtype = self.embedding.dtype
        normed = decoder.embedding_norm, None
        self.token_norm, self.embedding_norm = (norm(one, dtype) for one in (normed if decoder.norm_tokens else normed[::-1]))
        self.norm = norm(decoder.norm, dtype)
        self.dense = product(decoder.dense)

    def logits(self, tokens: Tensor) -> Tensor:
        """[N] -> [N, V]."""
        X = self.token_norm(F.embedding(tokens, self.embedding) * self.scale)
        if self.table is not None:
            place = self.position_offset + (self.length if self.moving else 0)
            if self.left_padding is None:
                X = X + self.table[place]
            else:  # rows begin at different steps
                X = X + F.embedding((place - self.left_padding).clip(min=0), self.table)
        X = self.embedding_norm(X)
        self.length += 1
        own_hidden = None if self.own_hidden is None else self.own_hidden[..., : self.length]
        for block in self.blocks:
            X = block.step(X, own_hidden)
        X = self.norm(X)
        return self.dense(X if self.output_scale == 1.0 else X * self.output_scale)

    def reorder(self, rows: Tensor) -> None:
        """Row r continues from what was row ``rows[r]``; the encoder's part stays, which all rows of a source share."""
        if self.left_padding is not None:
            self.left_padding, self.own_hidden = self.left_padding.index_select(rows), self.own_hidden.index_select(rows)
        for block in self.blocks:
            if block.keys is not None:
                block.keys, block.values = block.keys.index_select(rows), block.values.index_select(rows)


class BlockSteps:
    """A decoder block's steps, with keys and values [N, G, length, D/H], grown by concatenation (see ``cache``)."""

    def __init__(self, block: DecoderBlock, enc_outputs: Tensor | None, hidden: Hidden | None, cache: BlockCache):
        own, cross, ffn = block.attention1, block.attention2, block.ffn
        self.projections, self.output, self.rotary = projections(own), product(own.W_o), own.rotary
        self.heads = own.num_heads
        self.factor = own.attention._factor(own.W_o.weight.shape[0] // own.num_heads)
        self.keys, self.values = cache.self_attention.key_buffer, cache.self_attention.value_buffer
        self.cross = None
        if cross is not None and enc_outputs is not None:
            B, S, D = enc_outputs.shape
            rows = reshape(enc_outputs, [B * S, D])
            projected, few = (product(part)(rows) for part in (cross.W_k, cross.W_v)), cross.num_kv_heads
            keys, values = (swap_axes(reshape(part, [B, S, few, -1])) for part in projected)  # [B, G, S, D/H]
            self.cross = keys * self.factor, values if hidden is None else values * hidden.values
            self.hidden = None if hidden is None else hidden.scores
            self.cross_query, self.cross_output = product(cross.W_q), product(cross.W_o)
        self.inner, self.dense2 = ffn._inner(product), product(ffn.dense2)
        self.pre = block.addnorm1.pre
        norms, dtype = (block.addnorm1, block.addnorm2, block.addnorm3), own.W_o.weight.dtype
        self.norms = [norm(None if part is None else part.ln, dtype) for part in norms]

    def step(self, X: Tensor, own_hidden: Tensor | None) -> Tensor:
        """[N, D] -> [N, D], the next token's."""
        source = None if self.cross is None else self._attend_source
        return through(X, (lambda X: self._attend_own(X, own_hidden), source, self._feed_forward), self.norms, self.pre)

    def _feed_forward(self, X: Tensor) -> Tensor:
        return self.dense2(self.inner(X))

    def _attend_own(self, X: Tensor, hidden: Tensor | None) -> Tensor:
        queries, keys, values = self.projections(X)
        if self.rotary is not None:
            past = 0 if self.keys is None else self.keys.shape[2]
            queries, keys = self.rotary.forward(queries, past), self.rotary.forward(keys, past)
        if self.keys is not None:
            keys, values = paddle.concat([self.keys, keys], axis=2), paddle.concat([self.values, values], axis=2)
        self.keys, self.values = keys, values
        return self.output(reshape(attend(queries * self.factor, keys, values, hidden), [X.shape[0], -1]))

    def _attend_source(self, X: Tensor) -> Tensor:
        keys, values = self.cross
        # [B, H, beam, D/H]: the hypotheses of a source ask the same keys.
        queries = swap_axes(reshape(self.cross_query(X), [keys.shape[0], -1, self.heads, keys.shape[3]]))
        return self.cross_output(reshape(swap_axes(attend(queries, keys, values, self.hidden)), [X.shape[0], -1]))
