"""Decoding steps on prepared weights: what the decoder's layers compute of one token in each row, without asking each time.

Checks, masks and states of every layer take Python longer than the processor takes for the sums of a few rows.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .attention import DotProductAttention, MultiHeadAttention, length_mask
from .cache import BlockCache
from .decoder import DecoderBlock, TransformerDecoder
from .dropout import Dropout
from .embedding import PositionalEncoding
from .feed_forward import PositionWiseFFN
from .int8 import Int8Linear
from .normalization import AddNorm, LayerNorm

LAYERS = (
    *(TransformerDecoder, DecoderBlock, MultiHeadAttention, DotProductAttention, AddNorm, LayerNorm, PositionWiseFFN),
    *(PositionalEncoding, Dropout, nn.Sequential, nn.Embedding, nn.Linear, Int8Linear),
)
# One product is faster than three where the weights are few; more of them take longer to join than a sentence gains.
JOINED = 2**16
# For so many rows the CPU's product takes half the time with the weight as its left factor.
TURNED = range(12, 48)

Product = Callable[[Tensor], Tensor]


def is_plain(decoder: TransformerDecoder) -> bool:
    """Whether all layers are those of this package and of torch itself, and nobody watches or replaces what they do."""
    for layer in decoder.modules():
        own = vars(layer)
        if type(layer) not in LAYERS or own["_forward_hooks"] or own["_forward_pre_hooks"] or "forward" in own:
            return False
        if isinstance(layer, LayerNorm) and len(layer.norm_shape) > 1:
            return False
    return True


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
        if decoder.pos_encoding is not None:
            decoder.pos_encoding._match(self.embedding)
        self.table = decoder.pos_embedding.weight if decoder.pos_encoding is None else decoder.pos_encoding.P
        self.position_offset = decoder.position_offset
        self.moving = decoder.compat_decode != "d2l"  # the book's predictor feeds one token at a time, each at position 0
        self.length, _, _, _, self.left_padding = caches[0].self_attention
        self.own_mask = self.cross_mask = None
        if self.left_padding is not None:  # [N, 1, 1, max_steps]
            self.own_mask = torch.arange(max_steps, device=self.embedding.device) >= self.left_padding[:, None, None, None]
        if enc_outputs is not None and bool((valid_lens < enc_outputs.shape[1]).any()):
            B, S, _ = enc_outputs.shape
            self.cross_mask = length_mask(valid_lens, (B, 1, 1, S), enc_outputs)
        blocks = zip(decoder.blks, caches, strict=True)
        self.blocks = [BlockSteps(block, enc_outputs, cache, rows, max_steps) for block, cache in blocks]
        self.embedding_norm, self.norm = _norm(decoder.embedding_norm), _norm(decoder.norm)
        self.dense = _product(rows, decoder.dense)

    def logits(self, tokens: Tensor) -> Tensor:
        """[N] -> [N, V]."""
        place = self.position_offset + (self.length if self.moving else 0)
        # [D], or [N, D] where rows begin at different steps.
        vectors = self.table[place] if self.left_padding is None else self.table[(place - self.left_padding).clamp(min=0)]
        X = self.embedding_norm(F.embedding(tokens, self.embedding) * self.scale + vectors)
        own_mask = None if self.own_mask is None else self.own_mask[..., : self.length + 1]
        for block in self.blocks:
            X = block.step(X, self.length, own_mask, self.cross_mask)
        self.length += 1
        return self.dense(self.norm(X))

    def reorder(self, rows: Tensor) -> None:
        """Row r continues from what was row ``rows[r]``; the encoder's part stays, which all rows of a source share."""
        if self.left_padding is not None:
            self.left_padding, self.own_mask = self.left_padding[rows], self.own_mask[rows]
        for block in self.blocks:
            for buffer in (block.keys, block.values):
                past = buffer[:, :, : self.length]
                past.copy_(past[rows])


class BlockSteps:
    """One decoder block's, with buffers [N, H, max_steps, D/H] of its keys and values."""

    def __init__(self, block: DecoderBlock, enc_outputs: Tensor | None, cache: BlockCache, rows: int, max_steps: int):
        own, cross, ffn = block.attention1, block.attention2, block.ffn
        weight, self.heads = own.W_q.weight, own.num_heads
        parts = own.W_q, own.W_k, own.W_v
        joined = weight.numel() <= JOINED and not isinstance(own.W_q, Int8Linear)
        self.joined = _product(rows, *parts) if joined else None
        self.parts = [_product(rows, part) for part in parts]
        self.output = _product(rows, own.W_o)
        self.keys, self.values = cache.self_attention.key_buffer, cache.self_attention.value_buffer
        if self.keys is None:
            self.keys = weight.new_empty(rows, self.heads, max_steps, weight.shape[0] // self.heads)
            self.values = torch.empty_like(self.keys)
        self.cross = None
        if cross is not None and enc_outputs is not None:
            keys, values = cross.project_keys_values(enc_outputs, enc_outputs)  # [B, H, S, D/H]
            self.cross = keys, values, _product(rows, cross.W_q), _product(rows, cross.W_o)
        self.dense1, self.activation, self.dense2 = _product(rows, ffn.dense1), ffn.activation, _product(rows, ffn.dense2)
        norms = block.addnorm1, block.addnorm2, block.addnorm3
        self.pre = block.addnorm1.pre
        self.norms = [_norm(None if norm is None else norm.ln) for norm in norms]

    def step(self, X: Tensor, t: int, own_mask: Tensor | None, cross_mask: Tensor | None) -> Tensor:
        """[N, D] -> [N, D], the token of step ``t``."""
        norm1, norm2, norm3 = self.norms
        if self.pre:
            X = X + self._attend_own(norm1(X), t, own_mask)
            if self.cross is not None:
                X = X + self._attend_source(norm2(X), cross_mask)
            return X + self.dense2(self.activation(self.dense1(norm3(X))))
        X = norm1(X + self._attend_own(X, t, own_mask))
        if self.cross is not None:
            X = norm2(X + self._attend_source(X, cross_mask))
        return norm3(X + self.dense2(self.activation(self.dense1(X))))

    def _attend_own(self, X: Tensor, t: int, mask: Tensor | None) -> Tensor:
        N, H = X.shape[0], self.heads
        if self.joined is None:
            q, k, v = (part(X).view(N, H, -1) for part in self.parts)
        else:
            q, k, v = self.joined(X).view(N, 3, H, -1).unbind(1)
        self.keys[:, :, t] = k
        self.values[:, :, t] = v
        keys, values = self.keys[:, :, : t + 1], self.values[:, :, : t + 1]
        return self.output(_attention(q.unsqueeze(2), keys, values, mask).reshape(N, -1))

    def _attend_source(self, X: Tensor, mask: Tensor | None) -> Tensor:
        keys, values, query, output = self.cross
        B, H, _, size = keys.shape
        # [B, H, beam, D/H]: the hypotheses of a source ask the same keys.
        q = query(X).view(B, -1, H, size).transpose(1, 2)
        return output(_attention(q, keys, values, mask).transpose(1, 2).reshape(len(X), -1))


def _attention(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    # The fused kernel takes only numbers of a head that lie next to each other.
    return F.scaled_dot_product_attention(q if q.stride(-1) == 1 else q.contiguous(), keys, values, mask)


def _product(rows: int, *layers: nn.Linear) -> Product:
    """X [N, in] -> [N, out] of one layer, or of several on the same input, next to each other."""
    if isinstance(layers[0], Int8Linear):
        return layers[0].forward
    weights: list[Tensor] = [layer.weight for layer in layers]
    biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
    weight = weights[0] if len(weights) == 1 else torch.cat(weights)
    bias = (biases[0] if len(biases) == 1 else torch.cat(biases)) if biases else None
    if weight.device.type != "cpu" or weight.dtype != torch.float32 or rows not in TURNED:
        return lambda X: F.linear(X, weight, bias)
    if bias is None:
        return lambda X: torch.mm(weight, X.t()).t()
    column = bias[:, None]
    return lambda X: torch.mm(weight, X.t()).add_(column).t()


def _norm(layer: LayerNorm | None) -> Product:
    if layer is None:
        return lambda X: X
    if layer.kind != "layer_norm":
        return layer.forward
    shape, weight, bias, eps = layer.norm_shape, layer.weight, layer.bias, layer.eps
    return lambda X: torch.layer_norm(X, shape, weight, bias, eps)
