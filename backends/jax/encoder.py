"""The encoder block and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import jax.numpy as jnp
from flax import nnx
from jax import Array

from transformer_mb.attention_weights import WeightsOfEncoder
from transformer_mb.config import check_sizes
from transformer_mb.layer_calls import Called
from transformer_mb.layer_options import BlockOptions, Chosen, EmbeddingOptions, EncoderOptions

from .attention import MultiHeadAttention, length_mask
from .embedding import RelativeBias, SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .given import features
from .normalization import AddNorm, LayerNorm


class EncoderBlock(Called, nnx.Module):
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
        use_bias: bool = False,
        *,
        param_dtype: Any = jnp.float32,
        rngs: nnx.Rngs | None = None,
        **options: Unpack[BlockOptions],
    ):
        created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": rngs or nnx.Rngs(0)}
        chosen = Chosen(BlockOptions, options, dropout)
        sizes = (key_size, query_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias)
        own: dict[str, Any] = {**chosen.heads, **created}
        self.attention = MultiHeadAttention(*sizes, **own)
        self.addnorm1 = AddNorm(norm_shape, dropout, **chosen.add_norm, **created)
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens, **chosen.ffn, **created)
        self.addnorm2 = AddNorm(norm_shape, dropout, **chosen.add_norm, **created)

    def __call__(
        self,
        X: Array,
        valid_lens: Array | None = None,
        *,
        mask: Array | None = None,
        need_weights: bool = False,
        bias: Array | None = None,
    ) -> Array:
        features("X", X, getattr(self.attention, "W_q", None))
        Y = self.addnorm1.sublayer_input(X)
        X = self.addnorm1(X, self.attention(Y, Y, Y, valid_lens, mask=mask, need_weights=need_weights, bias=bias))
        return self.addnorm2(X, self.ffn(self.addnorm2.sublayer_input(X)))


class TransformerEncoder(WeightsOfEncoder, SequenceEmbedding):
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
        **options: Unpack[EncoderOptions],
    ):
        created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": rngs or nnx.Rngs(0)}
        check_sizes(num_layers=num_layers)
        chosen = Chosen(EncoderOptions, options, dropout)
        embedding = chosen.of(EmbeddingOptions)
        super().__init__(vocab_size, num_hiddens, dropout, token_types=chosen.token_types, **embedding, **created)
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        block_options = {**chosen.of(BlockOptions), **created}
        self.blks = nnx.List([EncoderBlock(*sizes, dropout, use_bias, **block_options) for _ in range(num_layers)])
        relative = chosen.position == "relative"
        self.relative_bias = RelativeBias(num_heads, True, **chosen.relative, **created) if relative else None
        self.norm = LayerNorm(norm_shape, **chosen.layer_norm, **created) if chosen.final_norm else None

    def __call__(
        self,
        X: Array,
        valid_lens: Array | None = None,
        *,
        token_types: Array | None = None,
        need_weights: bool = False,
    ) -> Array:
        X = self.embed(X, token_types=token_types)
        B, S, _ = X.shape
        # One mask for all blocks.
        mask = None if valid_lens is None else length_mask(valid_lens, (B, 1, S, S), X)
        bias = None if self.relative_bias is None else self.relative_bias.scores(S, S)
        for block in self.blks:
            X = block(X, mask=mask, need_weights=need_weights, bias=bias)
        return X if self.norm is None else self.norm(X)
