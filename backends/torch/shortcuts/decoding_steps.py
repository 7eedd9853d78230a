"""Decoding steps on prepared weights: what the decoder's layers compute of one token in each row."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_mb.decoding.through import through

from ..attention import length_mask
from ..cache import BlockCache
from ..decoder import DecoderBlock, TransformerDecoder
from .int8 import Int8Linear
from .one_row import onednn_is_slower, without_onednn
from .prepared_layers import attend, heads, norm, positions, product

# One product is faster than three where the weights are few; more of them take longer to join than a sentence gains.
JOINED = 2**16


class DecodingSteps:
    """Steps of ``rows`` = B * beam rows, from what the decoder's caches hold of earlier ones.

    Args:
        enc_outputs, valid_lens: [B, S, D] and [B], both None for a decoder alone. max_steps: of the caches.
    """

    def __init__(
        self,
        decoder: TransformerDecoder,
        enc_outputs: Tensor | None,
        valid_lens: Tensor | None,
        caches: list[BlockCache],
        rows: int,
        max_steps: int,
    ):
        self.embedding, self.scale = decoder.embedding.weight, decoder.scale
        self.table = positions(decoder)
        self.position_offset, self.output_scale = decoder.position_offset, decoder.output_scale
        self.moving = decoder.compat_decode != "d2l"  # the book's predictor feeds one token at a time, each at position 0
        self.length, _, _, _, self.left_padding = caches[0].self_attention
        self.max_steps, self.own_mask, cross_mask = max_steps, None, None
        if self.left_padding is not None:  # [N, 1, 1, max_steps]
            self.own_mask = torch.arange(max_steps, device=self.embedding.device) >= self.left_padding[:, None, None, None]
        if enc_outputs is not None and bool((valid_lens < enc_outputs.shape[1]).any()):
            B, S, _ = enc_outputs.shape
            cross_mask = length_mask(valid_lens, (B, 1, 1, S), enc_outputs)
        blocks = zip(decoder.blks, caches, strict=True)
        self.blocks = [BlockSteps(block, enc_outputs, cross_mask, cache, rows, max_steps) for block, cache in blocks]
        normed = decoder.embedding_norm, None
        self.token_norm, self.embedding_norm = (norm(one) for one in (normed if decoder.norm_tokens else normed[::-1]))
        self.norm = norm(decoder.norm)
        self.dense = product(rows, decoder.dense)
        self.multiplying = without_onednn if rows == 1 and onednn_is_slower(self.embedding) else nullcontext

    def logits(self, tokens: Tensor) -> Tensor:
        """[N] -> [N, V]."""
        own_mask = None if self.own_mask is None else self.own_mask[..., : self.length + 1]
        with self.multiplying():
            logits = self.at(tokens, self.length, self.length + 1, own_mask)
        self.length += 1
        return logits

    def at(self, tokens: Tensor, t: int | Tensor, reach: int, own_mask: Tensor | None) -> Tensor:
        """The logits [N, V] of step ``t``, a number or a tensor [1]: each row may look at the first ``reach`` steps."""
        X = self.token_norm(F.embedding(tokens, self.embedding) * self.scale)
        if self.table is not None:
            place = self.position_offset + (t if self.moving else 0)
            # [D] or [1, D], or [N, D] where rows begin at different steps; what is before, of padding, nobody reads.
            X = X + self.table[place if self.left_padding is None else place - self.left_padding]
        X = self.embedding_norm(X)
        for block in self.blocks:
            X = block.step(X, t, reach, own_mask)
        X = self.norm(X)
        return self.dense(X if self.output_scale == 1.0 else X * self.output_scale)

    def reorder(self, rows: Tensor) -> None:
        """Row r continues from what was row ``rows[r]``; the encoder's part stays, which all rows of a source share."""
        if self.left_padding is not None:
            self.left_padding, self.own_mask = self.left_padding[rows], self.own_mask[rows]
        for block in self.blocks:
            for buffer in (block.keys, block.values):
                past = buffer[:, :, : self.length]
                past.copy_(past[rows])


class BlockSteps:
    """A decoder block's steps, with buffers [N, G, max_steps, D/H] of its keys and values."""

    def __init__(
        self,
        block: DecoderBlock,
        enc_outputs: Tensor | None,
        cross_mask: Tensor | None,
        cache: BlockCache,
        rows: int,
        max_steps: int,
    ):
        own, cross, ffn = block.attention1, block.attention2, block.ffn
        weight, few = own.W_q.weight, own.num_kv_heads
        self.width = weight.shape[0] // own.num_heads
        self.factor, self.numbers = own.attention._factor(self.width), (own.num_heads, few, few)
        self.grouped = rows, few, -1, self.width  # of queries [N, G, H/G, D/H]: heads that ask the same keys
        parts = own.W_q, own.W_k, own.W_v
        joined = weight.numel() <= JOINED and not isinstance(own.W_q, Int8Linear)
        self.joined = product(rows, *parts) if joined else None
        self.parts = [product(rows, part) for part in parts]
        self.output, self.rotary = product(rows, own.W_o), own.rotary
        if self.rotary is not None:
            self.angles = self.rotary._match(weight)  # [max_len, 2, D/H], which stays where it is when the layer takes another
        self.keys, self.values = cache.self_attention.key_buffer, cache.self_attention.value_buffer
        if self.keys is None:
            self.keys = weight.new_empty(rows, few, max_steps, self.width)
            self.values = torch.empty_like(self.keys)
        self.cross = None
        if cross is not None and enc_outputs is not None:
            projected = (layer.forward(enc_outputs) for layer in (cross.W_k, cross.W_v))
            keys, values = (heads(X, len(enc_outputs), few) for X in projected)  # [B, G, S, D/H]
            self.cross, self.cross_mask = (keys, values, product(rows, cross.W_q), product(rows, cross.W_o)), cross_mask
        self.inner, self.dense2 = ffn._inner(partial(product, rows)), product(rows, ffn.dense2)
        self.pre = block.addnorm1.pre
        sublayers = block.addnorm1, block.addnorm2, block.addnorm3
        self.norms = [norm(None if sublayer is None else sublayer.ln) for sublayer in sublayers]

    def step(self, X: Tensor, t: int | Tensor, reach: int, own_mask: Tensor | None) -> Tensor:
        """[N, D] -> [N, D], the token of step ``t``."""
        source = None if self.cross is None else self._attend_source
        sublayers = (lambda X: self._attend_own(X, t, reach, own_mask), source, self._feed_forward)
        return through(X, sublayers, self.norms, self.pre)

    def _feed_forward(self, X: Tensor) -> Tensor:
        return self.dense2(self.inner(X))

    def _attend_own(self, X: Tensor, t: int | Tensor, reach: int, mask: Tensor | None) -> Tensor:
        N = X.shape[0]
        if self.joined is None:
            q, k, v = (part(X).view(N, -1, self.width) for part in self.parts)
        else:
            q, k, v = self.joined(X).view(N, -1, self.width).split_with_sizes(self.numbers, 1)
        if self.rotary is not None:
            q, k = (self.rotary._turned(part, *self.angles[t].unbind(-2)) for part in (q, k))
        if isinstance(t, int):
            self.keys.select(2, t).copy_(k)
            self.values.select(2, t).copy_(v)
        else:
            self.keys.index_copy_(2, t, k.unsqueeze(2))
            self.values.index_copy_(2, t, v.unsqueeze(2))
        keys, values = self.keys.narrow(2, 0, reach), self.values.narrow(2, 0, reach)
        return self.output(attend(q.reshape(self.grouped), keys, values, mask, self.factor).reshape(N, -1))

    def _attend_source(self, X: Tensor) -> Tensor:
        keys, values, query, output = self.cross
        B, G, _, size = keys.shape
        q, beam = query(X), len(X) // B
        if beam == 1:
            return output(attend(q.view(B, G, -1, size), keys, values, self.cross_mask, self.factor).reshape(B, -1))
        # The hypotheses of a source ask the same keys: [B, beam, H, D/H] -> [B, G, H/G * beam, D/H].
        q = q.view(B, beam, -1, size).transpose(1, 2).reshape(B, G, -1, size)
        Y = attend(q, keys, values, self.cross_mask, self.factor).reshape(B, -1, beam, size)
        return output(Y.transpose(1, 2).reshape(len(X), -1))
