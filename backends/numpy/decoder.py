"""The decoder block and the decoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from transformer_mb.attention_weights import WeightsOfDecoder
from transformer_mb.checks import check_batches, check_state, per_step
from transformer_mb.config import check_count, check_sizes
from transformer_mb.layer_options import AttentionOptions, Chosen, DecoderBlockOptions, DecoderOptions, EmbeddingOptions

from .attention import MultiHeadAttention, length_mask
from .cache import BlockCache, KeyValueCache
from .embedding import RelativeBias, SequenceEmbedding
from .feed_forward import PositionWiseFFN
from .framework import Layer, Linear, Sequential
from .given import features
from .normalization import AddNorm, LayerNorm


class DecoderBlock(Layer):
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

    def forward(
        self,
        X: np.ndarray,
        state: list[Any],
        *,
        need_weights: bool = False,
        bias: np.ndarray | None = None,
    ) -> tuple[np.ndarray, list[Any]]:
        features("X", X, getattr(self.attention1, "W_q", None))
        check_state("DecoderBlock", state, self.i + 1)
        enc_outputs, enc_valid_lens, caches = state
        own, cross = caches[self.i] or BlockCache()
        # The book's code has no causal mask in evaluation.
        causal = self.training or self.compat_decode != "d2l"
        Y = self.addnorm1.sublayer_input(X)
        queries, keys, values = self.attention1._project(Y, own.length, own.length)
        own = own.append(keys, values)
        options: AttentionOptions = {"mask": own.mask, "causal": causal, "need_weights": need_weights, "bias": bias}
        Y = self.attention1._attend_projected(queries, own.keys, own.values, None, **options)
        X = self.addnorm1(X, Y)
        crossing = self.attention2 is not None and enc_outputs is not None
        if crossing:
            if cross is None:
                cross = self._cross(X, enc_outputs, enc_valid_lens)
            keys, values, mask = cross
            Y = self.addnorm2.sublayer_input(X)
            # A mask of all steps holds the lengths already.
            lens = enc_valid_lens if mask is None else None
            X = self.addnorm2(X, self.attention2(Y, keys, values, lens, mask=mask, need_weights=need_weights))
        X = self.addnorm3(X, self.ffn(self.addnorm3.sublayer_input(X)))
        self.remember(crossing)
        caches = [*caches[: self.i], BlockCache(own, cross), *caches[self.i + 1 :]]
        return X, [enc_outputs, enc_valid_lens, caches]

    def _cross(
        self, X: np.ndarray, enc_outputs: np.ndarray, valid_lens: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The projected keys and values, and the mask that all steps share: None without lengths or with some for each step."""
        keys, values = self.attention2.project_keys_values(enc_outputs, enc_outputs)
        check_batches("X", X.shape, enc_outputs.shape)
        if valid_lens is None or per_step(valid_lens):
            return keys, values, None
        return keys, values, length_mask(valid_lens, (keys.shape[0], 1, X.shape[1], keys.shape[2]), X)

    def backward(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The gradients of X and of ``enc_outputs`` (None without cross-attention), for a sequence that was fed whole."""
        (crossing,) = self.recall()
        dX, dY = self.addnorm3.backward(gradient)
        dX, d_enc_outputs = self.addnorm3.join(dX, self.ffn.backward(dY)), None
        if crossing:
            dX, dY = self.addnorm2.backward(dX)
            dY, d_enc_outputs, _ = self.attention2.backward(dY)
            dX = self.addnorm2.join(dX, dY)
        dX, dY = self.addnorm1.backward(dX)
        return self.addnorm1.join(dX, self.attention1.backward(dY)[0]), d_enc_outputs


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
        self.blks = Sequential()
        for i in range(num_layers):
            self.blks.add_module(f"block{i}", DecoderBlock(*sizes, dropout, i, use_bias, **block_options))
        self.output_scale = num_hiddens**-0.5 if chosen.output_scale else 1.0
        relative = chosen.position == "relative"
        self.relative_bias = RelativeBias(num_heads, False, **chosen.relative) if relative else None
        self.norm = LayerNorm(norm_shape, **chosen.layer_norm) if chosen.final_norm else None
        self.dense = Linear(num_hiddens, vocab_size, bias=chosen.output_bias)

    def init_state(
        self,
        enc_outputs: np.ndarray | None,
        enc_valid_lens: np.ndarray | None = None,
        max_steps: int | None = None,
        left_padding: np.ndarray | None = None,
    ) -> list[Any]:
        # Few bits hold no difference of positions.
        left_padding = None if left_padding is None else left_padding.astype(np.int64)
        start = BlockCache(KeyValueCache(max_steps=max_steps, left_padding=left_padding))
        fresh = max_steps is None and left_padding is None
        return [enc_outputs, enc_valid_lens, [None if fresh else start] * len(self.blks)]

    def forward(self, X: np.ndarray, state: list[Any], *, need_weights: bool = False) -> tuple[np.ndarray, list[Any]]:
        X, state = self._hidden_states(X, state, need_weights)
        return self.dense(X), state

    def _hidden_states(self, X: np.ndarray, state: list[Any], need_weights: bool = False) -> tuple[np.ndarray, list[Any]]:
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
        X = X if self.norm is None else self.norm(X)
        return X if self.output_scale == 1.0 else X * self.output_scale, state

    def backward(self, gradient: np.ndarray) -> np.ndarray | None:
        """The gradient of the encoder's outputs, which every block reads."""
        gradient = self.dense.backward(gradient) * self.output_scale
        gradient = gradient if self.norm is None else self.norm.backward(gradient)
        d_enc_outputs = None
        for block in reversed(self.blks):
            gradient, part = block.backward(gradient)
            d_enc_outputs = part if d_enc_outputs is None else d_enc_outputs + part
        if self.relative_bias is not None:
            self.relative_bias.scores_backward(sum(block.attention1.attention.bias_gradient for block in self.blks))
        self.embed_backward(gradient)
        return d_enc_outputs
