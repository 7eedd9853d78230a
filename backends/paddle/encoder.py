"""The encoder block and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import paddle.nn.functional as F
from paddle import Tensor, nn

from transformer_mb.config import TransformerConfig

from .attention import MultiHeadAttention
from .embedding import SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .normalization import AddNorm, LayerNorm


class EncoderBlock(nn.Layer):
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
        norm_position: str = "post",
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
        activation: str = "relu",
        ffn_bias: bool = True,
        ffn_dropout: float = 0.0,
        attention_dropout: float | None = None,
    ):
        super().__init__()
        norm: dict[str, Any] = {
            "norm_position": norm_position,
            "norm_eps": norm_eps,
            "norm_kind": norm_kind,
            "norm_affine": norm_affine,
        }
        attention_dropout = dropout if attention_dropout is None else attention_dropout
        self.attention = MultiHeadAttention(
            key_size, query_size, value_size, num_hiddens, num_heads, attention_dropout, use_bias
        )
        self.addnorm1 = AddNorm(norm_shape, dropout, **norm)
        self.ffn = PositionWiseFFN(
            ffn_num_input, ffn_num_hiddens, num_hiddens, activation=activation, dropout=ffn_dropout, use_bias=ffn_bias
        )
        self.addnorm2 = AddNorm(norm_shape, dropout, **norm)

    @classmethod
    def from_config(cls, config: TransformerConfig) -> EncoderBlock:
        D = config.num_hiddens
        sizes = (D, D, D, D, [D], D, config.ffn_num_hiddens, config.encoder_num_heads, config.dropout)
        return cls(*sizes, config.encoder_attention_bias, **config.block_options())

    def forward(
        self, X: Tensor, valid_lens: Tensor | None = None, *, mask: Tensor | None = None, need_weights: bool = False
    ) -> Tensor:
        Y = self.addnorm1.sublayer_input(X)
        X = self.addnorm1(X, self.attention(Y, Y, Y, valid_lens, mask=mask, need_weights=need_weights))
        return self.addnorm2(X, self.ffn(self.addnorm2.sublayer_input(X)))


class TransformerEncoder(SequenceEmbedding):
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
        token_types: int = 0,
        padding_id: int | None = None,
        final_norm: bool = False,
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
        **block_options: Any,
    ):
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
            token_types=token_types,
            padding_id=padding_id,
            **norm,
        )
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        self.blks = nn.Sequential()
        for i in range(num_layers):
            self.blks.add_sublayer(f"block{i}", EncoderBlock(*sizes, dropout, use_bias, **norm, **block_options))
        self.norm = LayerNorm(norm_shape, eps=norm_eps, kind=norm_kind, affine=norm_affine) if final_norm else None

    @classmethod
    def from_config(cls, config: TransformerConfig) -> TransformerEncoder:
        D, heads, layers = config.num_hiddens, config.encoder_num_heads, config.encoder_num_layers
        sizes = (D, D, D, D, [D], D, config.ffn_num_hiddens, heads, layers, config.dropout)
        options = {**config.stack_options(), "token_types": config.token_types}
        return cls(config.source_vocab_size, *sizes, config.encoder_attention_bias, **options)

    @property
    def attention_weights(self) -> list[Tensor | None]:
        return [block.attention.attention_weights for block in self.blks]

    def forward(
        self,
        X: Tensor,
        valid_lens: Tensor | None = None,
        *,
        token_types: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor:
        mask = None
        if valid_lens is not None and valid_lens.ndim == 1:
            # One mask for all blocks.
            mask = F.sequence_mask(valid_lens, X.shape[1], "bool").unsqueeze([1, 2])
            valid_lens = None
        X = self.embed(X, token_types=token_types)
        for block in self.blks:
            X = block(X, valid_lens, mask=mask, need_weights=need_weights)
        return X if self.norm is None else self.norm(X)
