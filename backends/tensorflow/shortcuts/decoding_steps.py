"""Decoding steps on prepared weights: what the decoder's layers compute of one token in each row, in few operations.

The loop of a small model takes its time in the number of its operations, and that of a large one in the copies between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

from transformer_mb.decoding.through import through

from ..attention import DotProductAttention, MultiHeadAttention, length_mask
from ..cache import BlockCache
from ..decoder import DecoderBlock, TransformerDecoder
from ..dense import Dense, TiedDense, products, row_product
from ..dropout import Dropout
from ..embedding import Embedding, PositionalEncoding
from ..feed_forward import PositionWiseFFN
from ..normalization import AddNorm, LayerNorm
from ..rotary import RotaryEncoding
from ..weights import named_layers

LAYERS = (
    *(TransformerDecoder, DecoderBlock, MultiHeadAttention, DotProductAttention, AddNorm, LayerNorm, PositionWiseFFN),
    *(PositionalEncoding, RotaryEncoding, Dropout, Embedding, Dense, TiedDense),
)
# One product is faster than three where the weights are few; more of them take longer to join than a sentence gains.
JOINED = 2**16

Product = Callable[[tf.Tensor], tf.Tensor]


def is_plain(decoder: TransformerDecoder) -> bool:
    """Tell whether all layers are those of this package and of Keras itself, of one dtype, and none is replaced."""
    dtype = decoder.embedding.variable_dtype
    for _, layer in named_layers(decoder):
        if type(layer) not in LAYERS or "call" in vars(layer) or getattr(layer, "lora_enabled", False):
            return False
        if isinstance(layer, LayerNorm) and len(layer.norm_shape) > 1:
            return False
        # The name of a policy says also whether it is mixed or quantized.
        if layer.weights and layer.dtype_policy.name != dtype:
            return False
    heads = {(block.attention1.num_heads, block.attention1.num_kv_heads) for block in decoder.blks}
    return len(heads) == 1 and dtype in ("float32", "float64")


class DecodingSteps:
    """Steps of N rows, from what the decoder's caches hold of earlier ones.

    Args:
        enc_outputs, valid_lens: [N, S, D] and [N], both None for a decoder alone. tokens: [N]. max_steps: of the caches.

    ``buffers``: of each block the keys and then the values, [max_steps, N * G, D/H] each, which a loop carries along. The
    steps come first, so that those until now are no copy but the beginning.
    """

    def __init__(
        self,
        decoder: TransformerDecoder,
        enc_outputs: tf.Tensor | None,
        valid_lens: tf.Tensor | None,
        caches: Sequence[BlockCache],
        tokens: tf.Tensor,
        max_steps: tf.Tensor,
    ):
        self.embedding, self.scale = tf.convert_to_tensor(decoder.embedding.embeddings), decoder.scale
        self.table = None if decoder.pos_embedding is None else tf.convert_to_tensor(decoder.pos_embedding.embeddings)
        if decoder.pos_encoding is not None:
            decoder.pos_encoding._match(self.embedding)
            self.table = decoder.pos_encoding.P
        self.position_offset, self.output_scale = decoder.position_offset, decoder.output_scale
        self.moving = decoder.compat_decode != "d2l"  # the book's predictor feeds one token at a time, each at position 0
        self.length, self.left_padding = caches[0].self_attention.length, caches[0].self_attention.left_padding
        self.heads, self.max_steps = decoder.blks[0].attention1.num_heads, max_steps
        few = decoder.blks[0].attention1.num_kv_heads
        cross_mask = None
        if enc_outputs is not None:
            B, S, _ = keras.ops.shape(enc_outputs)
            cross_mask = length_mask(valid_lens, (B, 1, 1, S), enc_outputs)[:, 0]
            cross_mask = tf.repeat(cross_mask, few, axis=0)  # [N * G, 1, S]
        self.blocks = [BlockSteps(block, enc_outputs, cross_mask) for block in decoder.blks]
        rows = keras.ops.shape(tokens)[0] * few
        self.buffers = [buffer for cache in caches for buffer in self._buffers(cache, rows, decoder.blks[0])]
        normed = decoder.embedding_norm, None
        self.token_norm, self.embedding_norm = (_norm(one) for one in (normed if decoder.norm_tokens else normed[::-1]))
        self.norm = _norm(decoder.norm)
        self.dense = _tied_product(decoder.dense) if isinstance(decoder.dense, TiedDense) else _product(decoder.dense)

    def _buffers(self, cache: BlockCache, rows: tf.Tensor, block: DecoderBlock) -> list[tf.Tensor]:
        own = cache.self_attention
        width = block.attention1.W_q.units // self.heads
        if own.key_buffer is None:
            # Written in place: tf.zeros would be one and the same tensor for all of them.
            shape, dtype = (self.max_steps, rows, width), self.embedding.dtype
            return [tf.raw_ops.Empty(shape=shape, dtype=dtype) for _ in range(2)]
        turned = (tf.transpose(buffer, (2, 0, 1, 3)) for buffer in (own.key_buffer, own.value_buffer))
        return [tf.reshape(buffer, (self.max_steps, rows, width)) for buffer in turned]

    def logits(self, tokens: tf.Tensor, count: tf.Tensor, buffers: Sequence[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """[N] -> [N, V], the token of step ``count``, and the buffers with what it adds to them."""
        length = self.length + count
        past = length + 1
        place = self.position_offset + (length if self.moving else 0)
        own_mask = None
        if self.left_padding is not None:
            place = tf.maximum(place - self.left_padding, 0)  # [N]
            own_mask = tf.range(past)[:, None] >= tf.repeat(self.left_padding, self.heads)  # [past, N * H]
        X = self.token_norm(tf.gather(self.embedding, tokens) * self.scale)
        X = self.embedding_norm(X if self.table is None else X + tf.gather(self.table, place))
        grown: list[tf.Tensor] = []
        for block, keys, values in zip(self.blocks, buffers[::2], buffers[1::2], strict=True):
            X, *added = block.step(X, length[None], past, own_mask, keys, values)
            grown += added
        X = self.norm(X)
        return self.dense(X if self.output_scale == 1.0 else X * self.output_scale), grown


class BlockSteps:
    """A decoder block's steps."""

    def __init__(self, block: DecoderBlock, enc_outputs: tf.Tensor | None, cross_mask: tf.Tensor | None):
        own, cross, ffn = block.attention1, block.attention2, block.ffn
        self.width = own.W_q.units // own.num_heads
        scale = own.attention._factor(self.width)
        self.inner_width = own.W_q.units
        self.shared = own.num_heads // own.num_kv_heads  # heads of queries that ask the same keys
        self.sizes = [own.W_q.units, own.W_k.units, own.W_v.units]
        parts = own.W_q, own.W_k, own.W_v
        joined = math.prod(own.W_q.kernel.shape) <= JOINED
        self.joined = _product(*parts, scale=scale) if joined else None
        self.parts = [] if joined else [_product(own.W_q, scale=scale), _product(own.W_k), _product(own.W_v)]
        self.output, self.rotary = _product(own.W_o), own.rotary
        self.cross = None
        if cross is not None and enc_outputs is not None:
            keys, values = cross.project_keys_values(enc_outputs, enc_outputs)
            S = keras.ops.shape(keys)[2]
            keys, values = (tf.reshape(each, (-1, S, self.width)) for each in (keys, values))  # [N * G, S, D/H]
            # A row without any key gets zeros.
            values = tf.where(tf.reduce_any(cross_mask, axis=-1, keepdims=True), values, 0.0)
            hidden = tf.where(cross_mask, tf.zeros((), keys.dtype), keys.dtype.min / 2)
            self.cross = keys, values, hidden, _product(cross.W_q, scale=scale), _product(cross.W_o)
        self.inner, self.dense2 = ffn._inner(_product), _product(ffn.dense2)
        norms = block.addnorm1, block.addnorm2, block.addnorm3
        self.pre = block.addnorm1.pre
        self.norms = [_norm(None if norm is None else norm.ln) for norm in norms]

    def step(
        self,
        X: tf.Tensor,
        place: tf.Tensor,
        past: tf.Tensor,
        own_mask: tf.Tensor | None,
        keys: tf.Tensor,
        values: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """[N, D] -> [N, D], and the buffers; ``place`` [1] is the step, ``past`` how many steps it attends to."""
        buffers = [keys, values]

        def attend_own(X: tf.Tensor) -> tf.Tensor:
            Y, *buffers[:] = self._attend_own(X, place, past, own_mask, keys, values)
            return Y

        source = None if self.cross is None else self._attend_source
        return through(X, (attend_own, source, self._feed_forward), self.norms, self.pre), *buffers

    def _attend_own(
        self,
        X: tf.Tensor,
        place: tf.Tensor,
        past: tf.Tensor,
        mask: tf.Tensor | None,
        keys: tf.Tensor,
        values: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        parts = [part(X) for part in self.parts] if self.joined is None else tf.split(self.joined(X), self.sizes, axis=1)
        q, k, v = (tf.reshape(part, (1, -1, self.width)) for part in parts)  # [1, N * H or N * G, D/H]
        if self.rotary is not None:
            rows = self.rotary.table(X.dtype)[place[0]]
            q, k = (self.rotary._turned(part, rows[0], rows[1]) for part in (q, k))
        # In place, where all others copy the buffer: at base size a tenth of the time of 32 rows.
        keys = tf.raw_ops.InplaceUpdate(x=keys, i=place, v=k)
        values = tf.raw_ops.InplaceUpdate(x=values, i=place, v=v)
        scores = tf.reduce_sum(self._each(keys[:past]) * q, axis=-1)  # [past, N * H]
        if mask is not None:
            scores = tf.where(mask, scores, scores.dtype.min)
        weights = tf.exp(scores - tf.reduce_max(scores, axis=0))
        summed = tf.reduce_sum(weights[:, :, None] * self._each(values[:past]), axis=0)  # [N * H, D/H]
        output = summed / tf.reduce_sum(weights, axis=0)[:, None]
        return self.output(tf.reshape(output, (-1, self.inner_width))), keys, values

    def _each(self, few: tf.Tensor) -> tf.Tensor:
        """[past, N * G, D/H] -> [past, N * H, D/H]."""
        return few if self.shared == 1 else tf.repeat(few, self.shared, axis=1)

    def _attend_source(self, X: tf.Tensor) -> tf.Tensor:
        keys, values, hidden, query, output = self.cross
        q = tf.reshape(query(X), (-1, self.shared, self.width))  # [N * G, H/G, D/H]
        weights = tf.nn.softmax(products(q, keys, transpose_b=True) + hidden)
        return output(tf.reshape(products(weights, values), (-1, self.inner_width)))

    def _feed_forward(self, X: tf.Tensor) -> tf.Tensor:
        return self.dense2(self.inner(X))


def _product(*layers: Dense, scale: float = 1.0) -> Product:
    """X [N, in] -> [N, out] of one layer, or of several on the same input, next to each other; ``scale`` is the first's."""
    weight = _joined([layer.kernel for layer in layers], scale)
    if layers[0].bias is None:
        return lambda X: row_product(X, weight)
    bias = _joined([layer.bias for layer in layers], scale)
    # Not by a sum: that of the residual connection would be joined to it first, and no bias to the product.
    return lambda X: tf.nn.bias_add(row_product(X, weight), bias)


def _tied_product(layer: TiedDense) -> Product:
    """Multiply with the table [V, D] as left factor: as right one it takes the CPU three times as long for 32 rows."""
    table, bias = tf.convert_to_tensor(layer.embedding.embeddings), layer.bias

    def product(X: tf.Tensor) -> tf.Tensor:
        one = X.shape[0] == 1
        Y = row_product(X, table, transpose_b=True) if one else tf.transpose(tf.matmul(table, X, transpose_b=True))
        return Y if bias is None else Y + bias

    return product


def _joined(variables: Sequence[tf.Variable], scale: float) -> tf.Tensor:
    first, *others = map(tf.convert_to_tensor, variables)
    first = first if scale == 1.0 else first * scale
    return tf.concat((first, *others), axis=-1) if others else first


def _norm(layer: LayerNorm | None) -> Product:
    return (lambda X: X) if layer is None else layer.call
