"""Decoding steps on prepared weights: what the decoder's layers compute of one token in each row, without asking each time.

Checks, masks and states of every layer take Python longer than the processor takes for the sums of a few rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .attention import DotProductAttention, MultiHeadAttention, length_mask
from .cache import BlockCache
from .decoder import DecoderBlock, TransformerDecoder
from .dropout import Dropout
from .embedding import PositionalEncoding
from .feed_forward import PositionWiseFFN
from .normalization import AddNorm, LayerNorm

LAYERS = (
    *(TransformerDecoder, DecoderBlock, MultiHeadAttention, DotProductAttention, AddNorm, LayerNorm, PositionWiseFFN),
    *(PositionalEncoding, Dropout, nn.Sequential, nn.Embedding, nn.Linear),
)
# One product is faster than three where the weights are few; more of them take longer to join than a sentence gains.
JOINED = 2**16


def is_plain(decoder: TransformerDecoder) -> bool:
    """Whether all layers are those of this package and of torch itself, and nobody watches or replaces what they do."""
    return all(
        type(layer) in LAYERS
        and not (layer._forward_hooks or layer._forward_pre_hooks or "forward" in vars(layer))
        and not (isinstance(layer, LayerNorm) and len(layer.norm_shape) > 1)
        for layer in decoder.modules()
    )


class Cross(NamedTuple):
    """The encoder's keys and values [B, H, S, D/H] of one block; the hypotheses of a source share them."""

    keys: Tensor
    values: Tensor


class DecodingSteps:
    """Steps of B * beam rows, from what the decoder's state holds of earlier ones.

    Args:
        enc_outputs, valid_lens: [B, S, D] and [B], both None for a decoder alone.
        caches: of B * beam rows. max_steps: of the caches.
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
        self.decoder = decoder
        self.length = caches[0].self_attention.length
        self.left_padding = caches[0].self_attention.left_padding
        self.own_mask = self.cross_mask = None
        device = decoder.dense.weight.device
        if self.left_padding is not None:  # [N, 1, 1, max_steps]
            self.own_mask = torch.arange(max_steps, device=device) >= self.left_padding[:, None, None, None]
        if enc_outputs is not None and bool((valid_lens < enc_outputs.shape[1]).any()):
            B, S, _ = enc_outputs.shape
            self.cross_mask = length_mask(valid_lens, (B, 1, 1, S), enc_outputs)
        self.blocks = [
            Block(block, enc_outputs, cache, rows, max_steps) for block, cache in zip(decoder.blks, caches, strict=True)
        ]
        if decoder.pos_encoding is not None:
            decoder.pos_encoding._match(decoder.embedding.weight)

    def logits(self, tokens: Tensor) -> Tensor:
        """[N] -> [N, V]."""
        decoder, t = self.decoder, self.length
        X = F.embedding(tokens, decoder.embedding.weight) * decoder.scale + self._position()
        if decoder.embedding_norm is not None:
            X = _norm(decoder.embedding_norm, X)
        own_mask = None if self.own_mask is None else self.own_mask[..., : t + 1]
        for block in self.blocks:
            X = block.step(X, t, own_mask, self.cross_mask)
        self.length += 1
        return _linear(decoder.dense, X if decoder.norm is None else _norm(decoder.norm, X))

    def _position(self) -> Tensor:
        """[D], or [N, D] where rows begin at different steps."""
        decoder = self.decoder
        table = decoder.pos_embedding.weight if decoder.pos_encoding is None else decoder.pos_encoding.P
        # The book's predictor feeds one token at a time, each at position 0.
        place = decoder.position_offset + (0 if decoder.compat_decode == "d2l" else self.length)
        return table[place] if self.left_padding is None else table[(place - self.left_padding).clamp(min=0)]

    def reorder(self, rows: Tensor) -> None:
        """Row r continues from what was row ``rows[r]``; the encoder's part stays, which all rows of a source share."""
        if self.left_padding is not None:
            self.left_padding, self.own_mask = self.left_padding[rows], self.own_mask[rows]
        for block in self.blocks:
            for buffer in (block.keys, block.values):
                past = buffer[:, :, : self.length]
                past.copy_(past[rows])


class Block:
    """One decoder block: its layers' weights, and buffers [N, H, max_steps, D/H] of its keys and values."""

    def __init__(self, block: DecoderBlock, enc_outputs: Tensor | None, cache: BlockCache, rows: int, max_steps: int):
        self.block = block
        own = block.attention1
        self.joined = self.cross = None
        if own.W_q.weight.numel() <= JOINED:
            parts = own.W_q, own.W_k, own.W_v
            bias = None if own.W_q.bias is None else torch.cat([part.bias for part in parts])
            self.joined = torch.cat([part.weight for part in parts]), bias
        self.keys, self.values = cache.self_attention.key_buffer, cache.self_attention.value_buffer
        if self.keys is None:
            weight, heads = own.W_q.weight, own.num_heads
            self.keys = weight.new_empty(rows, heads, max_steps, weight.shape[0] // heads)
            self.values = torch.empty_like(self.keys)
        if block.attention2 is not None and enc_outputs is not None:
            self.cross = Cross(*block.attention2.project_keys_values(enc_outputs, enc_outputs))

    def step(self, X: Tensor, t: int, own_mask: Tensor | None, cross_mask: Tensor | None) -> Tensor:
        """[N, D] -> [N, D], the token of step ``t``."""
        block = self.block
        X = _add_norm(block.addnorm1, X, lambda Y: self._attend_own(Y, t, own_mask))
        if self.cross is not None:
            X = _add_norm(block.addnorm2, X, lambda Y: self._attend_source(Y, cross_mask))
        ffn = block.ffn
        return _add_norm(block.addnorm3, X, lambda Y: _linear(ffn.dense2, ffn.activation(_linear(ffn.dense1, Y))))

    def _attend_own(self, X: Tensor, t: int, mask: Tensor | None) -> Tensor:
        own, N, H = self.block.attention1, X.shape[0], self.block.attention1.num_heads
        if self.joined is None:
            q, k, v = (_linear(part, X).view(N, H, -1) for part in (own.W_q, own.W_k, own.W_v))
        else:
            q, k, v = F.linear(X, *self.joined).view(N, 3, H, -1).unbind(1)
        self.keys[:, :, t] = k
        self.values[:, :, t] = v
        keys, values = self.keys[:, :, : t + 1], self.values[:, :, : t + 1]
        Y = F.scaled_dot_product_attention(q.unsqueeze(2), keys, values, mask)
        return _linear(own.W_o, Y.reshape(N, -1))

    def _attend_source(self, X: Tensor, mask: Tensor | None) -> Tensor:
        attention, (keys, values), N = self.block.attention2, self.cross, X.shape[0]
        B, H, _, size = keys.shape
        q = _linear(attention.W_q, X).view(B, N // B, H, size).transpose(1, 2)  # [B, H, beam, D/H]
        Y = F.scaled_dot_product_attention(q, keys, values, mask)
        return _linear(attention.W_o, Y.transpose(1, 2).reshape(N, -1))


def _linear(layer: nn.Linear, X: Tensor) -> Tensor:
    return F.linear(X, layer.weight, layer.bias)


def _norm(layer: LayerNorm, X: Tensor) -> Tensor:
    if layer.kind == "layer_norm":
        return F.layer_norm(X, layer.norm_shape, layer.weight, layer.bias, layer.eps)
    return layer.forward(X)


def _add_norm(layer: AddNorm, X: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
    if layer.pre:
        return X + sublayer(_norm(layer.ln, X))
    return _norm(layer.ln, X + sublayer(X))
