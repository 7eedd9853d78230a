"""The decoder block and the decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from transformer_mb.attention_weights import WeightsOfDecoder
from transformer_mb.checks import check_batches, check_state
from transformer_mb.config import check_count, check_sizes
from transformer_mb.layer_options import AttentionOptions, Chosen, DecoderBlockOptions, DecoderOptions, EmbeddingOptions

from .attention import MultiHeadAttention
from .cache import BlockCache, KeyValueCache
from .embedding import RelativeBias, SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .framework import Linear, Module, ModuleList
from .given import features
from .normalization import AddNorm, LayerNorm


class DecoderBlock(Module):
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
        **options: Unpack[DecoderBlockOptions],
    ):
        check_count("i", i)
        chosen = Chosen(DecoderBlockOptions, options, dropout)
        self.i = i
        self.compat_decode = chosen.compat_decode
        sizes = (key_size, query_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias)
        self.attention1 = MultiHeadAttention(*sizes, **chosen.heads)
        self.addnorm1 = AddNorm(norm_shape, dropout, **chosen.add_norm)
        self.attention2 = MultiHeadAttention(*sizes, **chosen.cross_heads) if chosen.cross_attention else None
        self.addnorm2 = AddNorm(norm_shape, dropout, **chosen.add_norm) if chosen.cross_attention else None
        self.ffn = PositionWiseFFN(ffn_num_input, ffn_num_hiddens, num_hiddens, **chosen.ffn)
        self.addnorm3 = AddNorm(norm_shape, dropout, **chosen.add_norm)

    def forward(self, X: Any, state: list[Any], *, need_weights: bool = False, bias: Any = None) -> tuple[Any, list[Any]]:
        features("X", X, getattr(self.attention1, "W_q", None))
        check_state("DecoderBlock", state, self.i + 1)
        enc_outputs, enc_valid_lens, caches = state
        own, cross = caches[self.i] or BlockCache()
        # The book's code has no causal mask in evaluation.
        causal = self.training or self.compat_decode != "d2l"
        Y = self.addnorm1.sublayer_input(X)
        first, own = own.length, own.append(*self.attention1.project_keys_values(Y, Y, own.length))
        options = AttentionOptions(mask=own.mask, causal=causal, need_weights=need_weights, bias=bias)
        Y = self.attention1.attend(Y, own.keys, own.values, offset=first, **options)
        X = self.addnorm1(X, Y)
        if self.attention2 is not None and enc_outputs is not None:
            if cross is None:
                check_batches("X", X.shape, enc_outputs.shape)
                cross = self.attention2.project_keys_values(enc_outputs, enc_outputs)
            Y = self.addnorm2.sublayer_input(X)
            X = self.addnorm2(X, self.attention2.attend(Y, *cross, enc_valid_lens, need_weights=need_weights))
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
        **options: Unpack[DecoderOptions],
    ):
        check_sizes(num_layers=num_layers)
        chosen = Chosen(DecoderOptions, options, dropout)
        norm_tokens = chosen.decoder_embedding_norm == "tokens"
        super().__init__(vocab_size, num_hiddens, dropout, norm_tokens=norm_tokens, **chosen.of(EmbeddingOptions))
        self.compat_decode = chosen.compat_decode
        sizes = (key_size, query_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads)
        block_options = chosen.of(DecoderBlockOptions)
        self.blks = ModuleList([DecoderBlock(*sizes, dropout, i, use_bias, **block_options) for i in range(num_layers)])
        self.output_scale = num_hiddens**-0.5 if chosen.output_scale else 1.0
        relative = chosen.position == "relative"
        self.relative_bias = RelativeBias(num_heads, False, **chosen.relative) if relative else None
        self.norm = LayerNorm(norm_shape, **chosen.layer_norm) if chosen.final_norm else None
        self.dense: Any = Linear(num_hiddens, vocab_size, bias=chosen.output_bias)

    def init_state(
        self, enc_outputs: Any, enc_valid_lens: Any = None, max_steps: int | None = None, left_padding: Any = None
    ) -> list[Any]:
        # Few bits hold no difference of positions.
        left_padding = None if left_padding is None else left_padding.astype(int)
        start = BlockCache(KeyValueCache(max_steps=max_steps, left_padding=left_padding))
        return [enc_outputs, enc_valid_lens, [start] * len(self.blks)]

    def forward(self, X: Any, state: list[Any], *, need_weights: bool = False) -> tuple[Any, list[Any]]:
        X, state = self._hidden_states(X, state, need_weights)
        return self.dense(X), state

    def _hidden_states(self, X: Any, state: list[Any], need_weights: bool = False) -> tuple[Any, list[Any]]:
        """All but the logits, of which a prompt has no need."""
        check_state("TransformerDecoder", state, len(self.blks))
        own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention
        # The book's predictor feeds one token at a time, each at position 0.
        offset = 0 if self.compat_decode == "d2l" and not self.training else own.length
        X = self.embed(X, offset, left_padding=own.left_padding)
        bias = None
        if self.relative_bias is not None:
            T = X.shape[1]
            bias = self.relative_bias.scores(T, own.length + T, own.length)
        for block in self.blks:
            X, state = block(X, state, need_weights=need_weights, bias=bias)
        return (X if self.norm is None else self.norm(X)) * self.output_scale, state
