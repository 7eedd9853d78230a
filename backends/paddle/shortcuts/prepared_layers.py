"""Functions that compute what layers do in evaluation, hold their weights and ask nothing.

Checks, masks and states of every layer take Python longer than the processor takes for the sums of a few rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import Tensor, _C_ops, nn

from transformer_mb.decoding.through import through

from ..attention import DotProductAttention, MultiHeadAttention
from ..decoder import DecoderBlock, TransformerDecoder
from ..dropout import Dropout
from ..embedding import PositionalEncoding, SequenceEmbedding
from ..encoder import EncoderBlock, TransformerEncoder
from ..feed_forward import PositionWiseFFN
from ..linear import Linear, TiedLinear
from ..normalization import AddNorm, LayerNorm
from ..rotary import RotaryEncoding
from . import swap_axes as swapped_axes

LAYERS = frozenset(
    (
        *(TransformerEncoder, TransformerDecoder, EncoderBlock, DecoderBlock, MultiHeadAttention, DotProductAttention, AddNorm),
        *(LayerNorm, PositionWiseFFN, PositionalEncoding, RotaryEncoding, Dropout, Linear, TiedLinear),
        *(nn.Sequential, nn.Embedding, nn.Linear),
    )
)
# One product is faster than three where the weights are few; more of them take longer to join than a sentence gains.
JOINED = 2**16
# Up to this many numbers a view, and its copy at the next use, take less than einsum, which parses its equation (25 us).
EINSUM = 2**12

Product = Callable[[Tensor], Tensor]


def is_plain(layer: nn.Layer | None) -> bool:
    """Tell whether all layers within are this package's or Paddle's own, evaluate, and none is watched or replaced."""
    if layer is None:
        return True
    own = vars(layer)
    if type(layer) not in LAYERS or own["_forward_pre_hooks"] or own["_forward_post_hooks"] or "forward" in own:
        return False
    if own["training"]:  # a dropout that is to drop all the same
        return False
    if type(layer) is LayerNorm and len(layer.norm_shape) > 1:
        return False
    return all(map(is_plain, own["_sub_layers"].values()))


class Hidden(NamedTuple):
    """The keys beyond ``valid_lens``, for all blocks: what is added to scores, and what values are multiplied by.

    The zeros are for what Paddle's softmax leaves: e^-64 of a key, and of a row without any key the mean of all values.
    """

    scores: Tensor  # [B, 1, 1, S]: 0, or the lowest number
    values: Tensor  # [B, 1, S, 1]: 1, or 0


def hidden_keys(valid_lens: Tensor | None, steps: int, like: Tensor) -> Hidden | None:
    """Hide keys beyond lengths [B]; None where all keys count."""
    if valid_lens is None:
        return None
    within = np.arange(steps) < valid_lens.numpy()[:, None]
    if within.all():
        return None
    values = paddle.to_tensor(within[:, None, :, None], like.dtype, like.place)
    return Hidden((1.0 - values.reshape([-1, 1, 1, steps])) * paddle.finfo(like.dtype).min, values)


def attend(queries: Tensor, keys: Tensor, values: Tensor, hidden: Tensor | None) -> Tensor:
    """Attend with queries [B, H, T, D/H], which are scaled, to a result of their shape; ``hidden`` is added to the scores."""
    shape, G = queries.shape, keys.shape[1]
    if shape[1] != G:  # heads that ask the same keys are steps of one
        queries = reshape(queries, [0, G, -1, shape[3]])
    scores = paddle.matmul(queries, keys, transpose_y=True)
    output = paddle.matmul(F.softmax(scores if hidden is None else scores + hidden), values)
    return output if shape[1] == G else reshape(output, shape)


def reshape(X: Tensor, shape: list[int]) -> Tensor:
    """Reshape, a step's most frequent operation: paddle.reshape takes twice the time, to look at its arguments."""
    return _C_ops.reshape(X, shape)


def swap_axes(X: Tensor) -> Tensor:
    """The two middle axes of four swapped."""
    _, T, H, _ = X.shape
    if T == 1 or H == 1:
        return reshape(X, [0, H, T, -1])
    return swapped_axes(X) if math.prod(X.shape) > EINSUM else paddle.transpose(X, [0, 2, 1, 3])


def product(*layers: nn.Layer) -> Product:
    """X [N, in] -> [N, out] of one layer, or of several on the same input, next to each other."""
    if type(layers[0]) is TiedLinear:
        return layers[0].forward
    weights: list[Tensor] = [layer.weight for layer in layers]
    biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
    weight = weights[0] if len(weights) == 1 else paddle.concat(weights, axis=1)
    if not biases:
        return lambda X: paddle.matmul(X, weight)
    bias = biases[0] if len(biases) == 1 else paddle.concat(biases)
    return lambda X: paddle.addmm(bias, X, weight)


def projections(attention: MultiHeadAttention) -> Callable[[Tensor], list[Tensor]]:
    """X [N, in] -> its queries, keys and values, [N, H, 1, D/H] and [N, G, 1, D/H]."""
    parts = attention.W_q, attention.W_k, attention.W_v
    H, G, width = attention.num_heads, attention.num_kv_heads, attention.W_q.weight.shape[1] // attention.num_heads
    if math.prod(attention.W_q.weight.shape) > JOINED:
        apart = [product(part) for part in parts]
        return lambda X: [reshape(part(X), [0, -1, 1, width]) for part in apart]
    joined = product(*parts)
    return lambda X: _C_ops.split(reshape(joined(X), [0, -1, 1, width]), [H, G, G], 1)


def norm(layer: LayerNorm | None, dtype: paddle.dtype) -> Product:
    if layer is None:
        return _unchanged
    if not layer._has_kernel(dtype):
        return layer._composed
    return partial(_layer_norm, layer.weight, layer.bias, layer.eps)


def _layer_norm(weight: Tensor | None, bias: Tensor | None, eps: float, X: Tensor) -> Tensor:
    return cast(Tensor, _C_ops.layer_norm(X, weight, bias, eps, X.ndim - 1))


def _unchanged(X: Tensor) -> Tensor:
    return X


def positions(stack: SequenceEmbedding) -> Tensor | None:
    """The table of their vectors, the first of them at ``position_offset``; None where heads are turned instead."""
    if stack.pos_encoding is None:
        return None if stack.pos_embedding is None else stack.pos_embedding.weight
    stack.pos_encoding._match(stack.embedding.weight)
    return stack.pos_encoding.P


def encode(encoder: TransformerEncoder, source: Tensor, hidden: Hidden | None) -> Tensor:
    """[B, S] -> [B, S, D], what the encoder itself gives."""
    B, S = source.shape
    start = encoder.position_offset
    X, table = F.embedding(source, encoder.embedding.weight) * encoder.scale, positions(encoder)
    if table is not None:
        X = X + table[start : start + S]
    if encoder.type_embedding is not None:
        X = X + encoder.type_embedding.weight[0]
    dtype = X.dtype
    X = norm(encoder.embedding_norm, dtype)(reshape(X, [B * S, -1]))
    blocks: Iterable[Any] = encoder.blks
    for block in blocks:
        X = _block(block, X, S, hidden)
    return reshape(norm(encoder.norm, dtype)(X), [B, S, -1])


def _block(block: EncoderBlock, X: Tensor, S: int, hidden: Hidden | None) -> Tensor:
    """[B * S, D] -> [B * S, D]."""
    ffn, norms = block.ffn, [norm(part.ln, X.dtype) for part in (block.addnorm1, block.addnorm2)]
    sublayers = (
        lambda X: _attend(block.attention, X, S, hidden),
        lambda X: product(ffn.dense2)(ffn._inner(product)(X)),
    )
    return through(X, sublayers, norms, block.addnorm1.pre)


def _attend(attention: MultiHeadAttention, X: Tensor, S: int, hidden: Hidden | None) -> Tensor:
    width = attention.W_q.weight.shape[1] // attention.num_heads
    queries, keys, values = (swap_axes(reshape(part, [-1, S, part.shape[1], width])) for part in projections(attention)(X))
    if attention.rotary is not None:
        queries, keys = attention.rotary.forward(queries), attention.rotary.forward(keys)
    queries = queries * attention.attention._factor(width)
    if hidden is not None:
        values = values * hidden.values
    Y = attend(queries, keys, values, None if hidden is None else hidden.scores)
    return product(attention.W_o)(reshape(swap_axes(Y), [X.shape[0], -1]))
