"""The decoder block and the decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.config import TransformerConfig

from .attention import MultiHeadAttention
from .cache import BlockCache, KeyValueCache
from .embedding import SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .normalization import AddNorm, LayerNorm


class DecoderBlock(nnx.Module):
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
        norm_position: str = "post",
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
        activation: str = "relu",
        ffn_bias: bool = True,
        ffn_dropout: float = 0.0,
        attention_dropout: float | None = None,
        cross_attention: bool = True,
        compat_decode: str = "correct",
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,
    ):
        created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": rngs or nnx.Rngs(0)}
        self.i = i
        self.compat_decode = compat_decode
        self.deterministic = False  # train() and eval() set it wherever it is, as in nnx.Dropout
        norm: dict[str, Any] = {
            "norm_position": norm_position,
            "norm_eps": norm_eps,
            "norm_kind": norm_kind,
            "norm_affine": norm_affine,
            **created,
        }
        attention_dropout = dropout if attention_dropout is None else attention_dropout
        sizes = (key_size, query_size, value_size, num_hiddens, num_heads, attention_dropout, use_bias)
        self.attention1 = MultiHeadAttention(*sizes, **created)
        self.addnorm1 = AddNorm(norm_shape, dropout, **norm)
        self.attention2 = MultiHeadAttention(*sizes, **created) if cross_attention else None
        self.addnorm2 = AddNorm(norm_shape, dropout, **norm) if cross_attention else None
        self.ffn = PositionWiseFFN(
            ffn_num_input,
            ffn_num_hiddens,
            num_hiddens,
            activation=activation,
            dropout=ffn_dropout,
            use_bias=ffn_bias,
            **created,
        )
        self.addnorm3 = AddNorm(norm_shape, dropout, **norm)

    @classmethod
    def from_config(cls, config: TransformerConfig, i: int, **created: Any) -> DecoderBlock:
        D = config.num_hiddens
        sizes = (D, D, D, D, [D], D, config.ffn_num_hiddens, config.decoder_num_heads, config.dropout)
        options = {"cross_attention": config.has_encoder, "compat_decode": config.compat_decode}
        return cls(*sizes, i, config.decoder_attention_bias, **config.block_options(), **options, **created)

    def __call__(self, X: Array, state: list[Any], *, need_weights: bool = False) -> tuple[Array, list[Any]]:
        enc_outputs, enc_valid_lens, caches = state
        own, cross = caches[self.i] or BlockCache()
        # The book's code has no causal mask in evaluation.
        causal = not self.deterministic or self.compat_decode != "d2l"
        Y = self.addnorm1.sublayer_input(X)
        own = own.append(*self.attention1.project_keys_values(Y, Y))
        # A compiled loop's buffers are longer than the sequence so far, and their mask is causal by itself.
        mask = own.mask(X.shape[1], causal)
        options = {"mask": mask, "causal": causal and mask is None, "need_weights": need_weights}
        X = self.addnorm1(X, self.attention1.attend(Y, own.keys, own.values, **options))
        if self.attention2 is not None and enc_outputs is not None:
            if cross is None:
                cross = self.attention2.project_keys_values(enc_outputs, enc_outputs)
            Y = self.addnorm2.sublayer_input(X)
            X = self.addnorm2(X, self.attention2.attend(Y, *cross, enc_valid_lens, need_weights=need_weights))
        X = self.addnorm3(X, self.ffn(self.addnorm3.sublayer_input(X)))
        caches = [*caches[: self.i], BlockCache(own, cross), *caches[self.i + 1 :]]
        return X, [enc_outputs, enc_valid_lens, caches]


class TransformerDecoder(SequenceEmbedding):
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
        max_len: int = 1000,
        position: str = "sinusoidal",
        sinusoid_layout: str = "interleaved",
        position_offset: int = 0,
        embedding_scale: bool = True,
        embedding_norm: bool = False,
        padding_id: int | None = None,
        final_norm: bool = False,
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
        output_bias: bool = True,
        compat_decode: str = "correct",
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,
        **block_options: Any,
    ):
        created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": rngs or nnx.Rngs(0)}
        norm: dict[str, Any] = {"norm_eps": norm_eps, "norm_kind": norm_kind, "norm_affine": norm_affine}
        super().__init__(
            vocab_size,
            num_hiddens,
            dropout,
            max_len=max_len,
            position=position,
            sinusoid_layout=sinusoid_layout,
            position_offset=position_offset,
            embedding_scale=embedding_scale,
            embedding_norm=embedding_norm,
            padding_id=padding_id,
            **norm,
            **created,
        )
        self.compat_decode = compat_decode
        self.deterministic = False
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        options = {**norm, "compat_decode": compat_decode, **block_options, **created}
        self.blks = nnx.List([DecoderBlock(*sizes, dropout, i, use_bias, **options) for i in range(num_layers)])
        options = {"eps": norm_eps, "kind": norm_kind, "affine": norm_affine, **created}
        self.norm = LayerNorm(norm_shape, **options) if final_norm else None
        self.dense = nnx.Linear(num_hiddens, vocab_size, use_bias=output_bias, **created)

    @classmethod
    def from_config(cls, config: TransformerConfig, **created: Any) -> TransformerDecoder:
        D, heads, layers = config.num_hiddens, config.decoder_num_heads, config.decoder_num_layers
        sizes = (D, D, D, D, [D], D, config.ffn_num_hiddens, heads, layers, config.dropout)
        options = {
            **config.stack_options(),
            "output_bias": config.output_bias,
            "cross_attention": config.has_encoder,
            "compat_decode": config.compat_decode,
        }
        return cls(config.target_vocab_size, *sizes, config.decoder_attention_bias, **options, **created)

    @property
    def attention_weights(self) -> list[list[Array | None]]:
        own = [block.attention1.attention_weights for block in self.blks]
        cross = [block.attention2.attention_weights for block in self.blks if block.attention2 is not None]
        return [own, cross]

    def init_state(
        self, enc_outputs: Array | None, enc_valid_lens: Array | None = None, max_steps: int | None = None
    ) -> list[Any]:
        start = None if max_steps is None else BlockCache(KeyValueCache(max_steps=max_steps))
        return [enc_outputs, enc_valid_lens, [start] * len(self.blks)]

    def __call__(self, X: Array, state: list[Any], *, need_weights: bool = False) -> tuple[Array, list[Any]]:
        first = state[2][0]
        offset = 0 if first is None else first.own.length
        if self.compat_decode == "d2l" and self.deterministic:
            # The book's predictor feeds one token at a time, each at position 0.
            offset = 0
        X = self.embed(X, offset)
        for block in self.blks:
            X, state = block(X, state, need_weights=need_weights)
        X = X if self.norm is None else self.norm(X)
        return self.dense(X), state
