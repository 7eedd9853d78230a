"""The encoder block and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from transformer_mb.options import BlockOptions, Chosen, EmbeddingOptions, EncoderOptions

from .attention import MultiHeadAttention
from .embedding import SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .normalization import AddNorm, LayerNorm


class EncoderBlock(nn.Module):
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
        super().__init__()
        chosen = Chosen(BlockOptions, options, dropout)
        self.attention = MultiHeadAttention(
            key_size, query_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias
        )
        self.addnorm1 = AddNorm(norm_shape, dropout, **chosen.add_norm)
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens, **chosen.ffn)
        self.addnorm2 = AddNorm(norm_shape, dropout, **chosen.add_norm)

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
        **options: Unpack[EncoderOptions],
    ):
        chosen = Chosen(EncoderOptions, options, dropout)
        embedding = chosen.of(EmbeddingOptions)
        super().__init__(vocab_size, num_hiddens, dropout, token_types=chosen.token_types, **embedding)
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        self.blks: Any = nn.Sequential()
        for i in range(num_layers):
            self.blks.add_module(f"block{i}", EncoderBlock(*sizes, dropout, use_bias, **chosen.of(BlockOptions)))
        self.norm = LayerNorm(norm_shape, **chosen.layer_norm) if chosen.final_norm else None

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
        if valid_lens is not None and valid_lens.dim() == 1:
            # One mask for all blocks.
            mask = (torch.arange(X.shape[1], device=X.device) < valid_lens[:, None])[:, None, None]
            valid_lens = None
        X = self.embed(X, token_types=token_types)
        for block in self.blks:
            X = block(X, valid_lens, mask=mask, need_weights=need_weights)
        return X if self.norm is None else self.norm(X)
