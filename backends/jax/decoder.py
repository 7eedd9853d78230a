"""The decoder block and the decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.attention_weights import WeightsOfDecoder
from transformer_mb.checks import check_batches, check_state
from transformer_mb.config import check_count, check_sizes
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import AttentionOptions, Chosen, DecoderBlockOptions, DecoderOptions, EmbeddingOptions

from .attention import MultiHeadAttention
from .cache import BlockCache, KeyValueCache
from .embedding import RelativeBias, SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .given import features
from .linear import Linear
from .normalization import AddNorm, LayerNorm


class DecoderBlock(Called, nnx.Module):
    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: int | Sequence[int],
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        i: int,
        use_bias: bool = False,
        *,
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,
        **options: Unpack[DecoderBlockOptions],
    ):
        created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": rngs or nnx.Rngs(0)}
        check_count("i", i)
        chosen = Chosen(DecoderBlockOptions, options, dropout)
        self.i = i
        self.compat_decode = chosen.compat_decode
        self.deterministic = False  # train() and eval() set it wherever it is, as in nnx.Dropout
        sizes = (key_size, query_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias)
        own, cross = {**chosen.heads, **created}, {**chosen.cross_heads, **created}
        self.attention1 = MultiHeadAttention(*sizes, **own)
        self.addnorm1 = AddNorm(norm_shape, dropout, **chosen.add_norm, **created)
        self.attention2 = MultiHeadAttention(*sizes, **cross) if chosen.cross_attention else None
        self.addnorm2 = AddNorm(norm_shape, dropout, **chosen.add_norm, **created) if chosen.cross_attention else None
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens, **chosen.ffn, **created)
        self.addnorm3 = AddNorm(norm_shape, dropout, **chosen.add_norm, **created)

    def __call__(
        self,
        X: Array,
        state: list[Any],
        *,
        need_weights: bool = False,
        bias: Array | None = None,
    ) -> tuple[Array, list[Any]]:
        features("X", X, getattr(self.attention1, "W_q", None))
        check_state("DecoderBlock", state, self.i + 1)
        enc_outputs, enc_valid_lens, caches = state
        own, cross = caches[self.i] or BlockCache()
        # The book's code has no causal mask in evaluation.
        causal = not self.deterministic or self.compat_decode != "d2l"
        Y = self.addnorm1.sublayer_input(X)
        first, own = own.length, own.append(*self.attention1.project_keys_values(Y, Y, own.length))
        # A compiled loop's buffers are longer than the sequence so far; a mask of the cache is causal by itself.
        mask = own.visible(X.shape[1], causal)
        causal = causal and mask is None
        options: AttentionOptions = {"mask": mask, "causal": causal, "need_weights": need_weights, "bias": bias}
        Y = self.attention1(Y, own.keys, own.values, offset=first, **options)
        X = self.addnorm1(X, Y)
        if self.attention2 is not None and enc_outputs is not None:
            if cross is None:
                check_batches("X", X.shape, enc_outputs.shape)
                cross = self.attention2.project_keys_values(enc_outputs, enc_outputs)
            keys, values = cross
            Y = self.addnorm2.sublayer_input(X)
            X = self.addnorm2(X, self.attention2(Y, keys, values, enc_valid_lens, need_weights=need_weights))
        X = self.addnorm3(X, self.ffn(self.addnorm3.sublayer_input(X)))
        caches = [*caches[: self.i], BlockCache(own, cross), *caches[self.i + 1 :]]
        return X, [enc_outputs, enc_valid_lens, caches]


class TransformerDecoder(WeightsOfDecoder, SequenceEmbedding):
    def __init__(
        self,
        vocab_size: int,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: int | Sequence[int],
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_layers: int,
        dropout: float,
        use_bias: bool = False,
        *,
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,
        **options: Unpack[DecoderOptions],
    ):
        created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": rngs or nnx.Rngs(0)}
        check_sizes(num_layers=num_layers)
        chosen = Chosen(DecoderOptions, options, dropout)
        embedding = {**chosen.of(EmbeddingOptions), "norm_tokens": chosen.decoder_embedding_norm == "tokens"}
        super().__init__(vocab_size, num_hiddens, dropout, **embedding, **created)
        self.compat_decode = chosen.compat_decode
        self.deterministic = False
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        block_options = {**chosen.of(DecoderBlockOptions), **created}
        self.blks = nnx.List([DecoderBlock(*sizes, dropout, i, use_bias, **block_options) for i in range(num_layers)])
        self.output_scale = num_hiddens**-0.5 if chosen.output_scale else 1.0
        relative = chosen.position == "relative"
        self.relative_bias = RelativeBias(num_heads, False, **chosen.relative, **created) if relative else None
        self.norm = LayerNorm(norm_shape, **chosen.layer_norm, **created) if chosen.final_norm else None
        self.dense: Any = Linear(num_hiddens, vocab_size, use_bias=chosen.output_bias, **created)

    def init_state(
        self,
        enc_outputs: Array | None,
        enc_valid_lens: Array | None = None,
        max_steps: int | None = None,
        left_padding: Array | None = None,
    ) -> list[Any]:
        # Few bits hold no difference of positions.
        left_padding = None if left_padding is None else left_padding.astype(jnp.int32)
        start = BlockCache(KeyValueCache(max_steps=max_steps, left_padding=left_padding))
        fresh = max_steps is None and left_padding is None
        return [enc_outputs, enc_valid_lens, [None if fresh else start] * len(self.blks)]

    def __call__(self, X: Array, state: list[Any], *, need_weights: bool = False) -> tuple[Array, list[Any]]:
        check_state("TransformerDecoder", state, len(self.blks))
        own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention
        # The book's predictor feeds one token at a time, each at position 0.
        offset = 0 if self.compat_decode == "d2l" and self.deterministic else own.length
        X = self.embed(X, offset, left_padding=own.left_padding)
        bias = None
        if self.relative_bias is not None:
            T = X.shape[1]
            bias = self.relative_bias.scores(T, own.reach(T), own.length)
        for block in self.blks:
            X, state = block(X, state, need_weights=need_weights, bias=bias)
        X = X if self.norm is None else self.norm(X)
        return self.dense(X if self.output_scale == 1.0 else X * self.output_scale), state
