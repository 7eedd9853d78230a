"""The encoder block and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from transformer_mb.attention_weights import WeightsOfEncoder
from transformer_mb.config import check_sizes
from transformer_mb.layer_options import BlockOptions, Chosen, EmbeddingOptions, EncoderOptions

from .attention import MultiHeadAttention, length_mask
from .embedding import RelativeBias, SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .framework import Module, ModuleList
from .given import features
from .normalization import AddNorm, LayerNorm


class EncoderBlock(Module):
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
        **options: Unpack[BlockOptions],
    ):
        chosen = Chosen(BlockOptions, options, dropout)
        self.attention = MultiHeadAttention(
            key_size, query_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias, **chosen.heads
        )
        self.addnorm1 = AddNorm(norm_shape, dropout, **chosen.add_norm)
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens, **chosen.ffn)
        self.addnorm2 = AddNorm(norm_shape, dropout, **chosen.add_norm)

    def forward(self, X: Any, valid_lens: Any = None, *, mask: Any = None, need_weights: bool = False, bias: Any = None) -> Any:
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
        **options: Unpack[EncoderOptions],
    ):
        check_sizes(num_layers=num_layers)
        chosen = Chosen(EncoderOptions, options, dropout)
        embedding = chosen.of(EmbeddingOptions)
        super().__init__(vocab_size, num_hiddens, dropout, token_types=chosen.token_types, **embedding)
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        block_options = chosen.of(BlockOptions)
        self.blks = ModuleList([EncoderBlock(*sizes, dropout, use_bias, **block_options) for _ in range(num_layers)])
        relative = chosen.position == "relative"
        self.relative_bias = RelativeBias(num_heads, True, **chosen.relative) if relative else None
        self.norm = LayerNorm(norm_shape, **chosen.layer_norm) if chosen.final_norm else None

    def forward(self, X: Any, valid_lens: Any = None, *, token_types: Any = None, need_weights: bool = False) -> Any:
        X = self.embed(X, token_types=token_types)
        B, S, _ = X.shape
        mask = None if valid_lens is None else length_mask(valid_lens, (B, 1, S, S))  # one for all blocks
        bias = None if self.relative_bias is None else self.relative_bias.scores(S, S)
        for block in self.blks:
            X = block(X, mask=mask, need_weights=need_weights, bias=bias)
        return X if self.norm is None else self.norm(X)
