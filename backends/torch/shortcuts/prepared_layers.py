"""Functions that compute what layers do in evaluation of few positions, without asking each time.

Checks, masks and states of every layer take Python longer than the processor takes for the sums of a few rows.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_mb.decoding.through import through

from ..attention import DotProductAttention, MultiHeadAttention, length_mask
from ..decoder import DecoderBlock, TransformerDecoder
from ..dropout import Dropout
from ..embedding import Embedding, PositionalEncoding, SequenceEmbedding
from ..encoder import EncoderBlock, TransformerEncoder
from ..feed_forward import PositionWiseFFN
from ..normalization import AddNorm, LayerNorm
from ..rotary import RotaryEncoding
from . import is_watched
from .int8 import Int8Linear
from .one_row import onednn_is_faster

LAYERS = {
    *(TransformerEncoder, EncoderBlock, TransformerDecoder, DecoderBlock, MultiHeadAttention, DotProductAttention, AddNorm),
    *(LayerNorm, PositionWiseFFN, PositionalEncoding, RotaryEncoding, Dropout, nn.Sequential, Embedding, nn.Linear, Int8Linear),
}
# For this many rows the CPU's product takes half the time with the weight as its left factor.
TURNED = range(12, 48)

Product = Callable[[Tensor], Tensor]


def is_plain(layer: nn.Module) -> bool:
    """Tell whether all layers within are those of this package and of torch itself, and none is watched or replaced."""
    layers = [layer]
    for one in layers:  # those within are appended on the way; modules() takes three times as long
        if type(one) not in LAYERS or is_watched(one) or (type(one) is LayerNorm and len(one.norm_shape) > 1):
            return False
        layers += [child for child in one._modules.values() if child is not None]
    return True


def heads(X: Tensor, B: int, H: int) -> Tensor:
    """[B * T, D] or [B, T, D] -> [B, H, T, D/H]."""
    return X.view(B, -1, H, X.shape[-1] // H).transpose(1, 2)


def attend(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, factor: float) -> Tensor:
    # The fused kernel takes only numbers of a head that lie next to each other.
    q, few = q if q.stride(-1) == 1 else q.contiguous(), q.shape[1] != keys.shape[1]
    return F.scaled_dot_product_attention(q, keys, values, mask, scale=factor, enable_gqa=few)


def product(rows: int, *layers: nn.Linear) -> Product:
    """X [N, in] -> [N, out] of one layer, or of several on the same input, next to each other."""
    if isinstance(layers[0], Int8Linear):
        return layers[0].forward
    weights: list[Tensor] = [layer.weight for layer in layers]
    biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
    weight = weights[0] if len(weights) == 1 else torch.cat(weights)
    bias = (biases[0] if len(biases) == 1 else torch.cat(biases)) if biases else None
    if rows == 1 and onednn_is_faster(weight):
        return lambda X: torch.ops.mkldnn._linear_pointwise(X, weight, bias, "none", [], "")
    if rows not in TURNED or weight.device.type != "cpu" or weight.dtype != torch.float32:
        return lambda X: F.linear(X, weight, bias)
    if bias is None:
        return lambda X: torch.mm(weight, X.t()).t()
    column = bias[:, None]
    return lambda X: torch.mm(weight, X.t()).add_(column).t()


def norm(layer: LayerNorm | None) -> Product:
    if layer is None:
        return lambda X: X
    if layer.kind != "layer_norm":
        return layer.forward
    shape, weight, bias, eps = layer.norm_shape, layer.weight, layer.bias, layer.eps
    return lambda X: torch.layer_norm(X, shape, weight, bias, eps)


def positions(stack: SequenceEmbedding) -> Tensor | None:
    """The table of what is added to tokens, the first position at ``position_offset``; None where they are turned."""
    if stack.pos_encoding is None:
        return None if stack.pos_embedding is None else stack.pos_embedding.weight
    stack.pos_encoding._match(stack.embedding.weight)
    return stack.pos_encoding.P


FEW_TOKENS = 64  # with more of them what the layers compute takes longer than what they ask


def encode(encoder: TransformerEncoder, source: Tensor, valid_lens: Tensor) -> Tensor:
    """``encoder(source, valid_lens)`` of a checked source [B, S] in evaluation: [B, S, D]."""
    if source.numel() > FEW_TOKENS or not is_plain(encoder):
        return encoder(source, valid_lens)
    B, S = source.shape
    X = F.embedding(source, encoder.embedding.weight) * encoder.scale
    table = positions(encoder)
    if table is not None:
        X = X + table[encoder.position_offset : encoder.position_offset + S]
    if encoder.type_embedding is not None:
        X = X + encoder.type_embedding.weight[0]  # without token types every token is of type 0
    X = norm(encoder.embedding_norm)(X)
    mask = length_mask(valid_lens, (B, 1, S, S), X) if bool((valid_lens < S).any()) else None
    for block in encoder.blks:
        X = _block(block, X, mask)
    return norm(encoder.norm)(X)


def _block(block: EncoderBlock, X: Tensor, mask: Tensor | None) -> Tensor:
    """[B, S, D] -> [B, S, D]."""
    ffn, inner, norms = (
        block.ffn,
        block.ffn._inner(lambda layer: layer.forward),
        [norm(part.ln) for part in (block.addnorm1, block.addnorm2)],
    )
    sublayers = (
        lambda X: _attend(block, X, mask),
        lambda X: ffn.dense2.forward(inner(X)),
    )
    return through(X, sublayers, norms, block.addnorm1.pre)


def _attend(block: EncoderBlock, X: Tensor, mask: Tensor | None) -> Tensor:
    own, B = block.attention, len(X)
    parts = (own.W_q, own.num_heads), (own.W_k, own.num_kv_heads), (own.W_v, own.num_kv_heads)
    q, k, v = (heads(part.forward(X), B, number) for part, number in parts)
    if own.rotary is not None:
        q, k = own.rotary.forward(q), own.rotary.forward(k)
    return own.W_o.forward(attend(q, k, v, mask, own.attention._factor(q.shape[-1])).transpose(1, 2).flatten(2))
