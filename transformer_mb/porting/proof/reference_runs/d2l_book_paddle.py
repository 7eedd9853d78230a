"""D2L's Transformer in Paddle; Paddle 3 takes the lengths as float32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...families.naming_schemes import NAMING_SCHEMES, native_name
from .d2l_book import Sizes, import_d2l, new_state, numbered_lens, through_block


class Book:
    def __init__(self, sizes: Sizes):
        import paddle

        d2l, D, bias = import_d2l("paddle"), sizes.width, _bias(sizes.encoder_bias)
        block = (D, D, D, D, [D], D, sizes.ffn, sizes.encoder_heads)
        encoder = d2l.TransformerEncoder(sizes.source_vocab, *block, sizes.encoder_layers, 0.0, bias)
        self.net = d2l.EncoderDecoder(encoder, _decoder(paddle, d2l, sizes))
        self.net.train()
        self.paddle = paddle
        self.version = f"paddle {paddle.__version__}"

    def load(self, tensors: dict[str, np.ndarray]) -> None:
        own = {native_name(name, NAMING_SCHEMES["paddle"]): self.paddle.to_tensor(array) for name, array in tensors.items()}
        missing, unexpected = self.net.set_state_dict(own)
        assert not missing and not unexpected, (missing, unexpected)

    def encoder(self, source: np.ndarray, lens: np.ndarray) -> np.ndarray:
        return self.net.encoder(self.paddle.to_tensor(source), self.paddle.to_tensor(lens, "float32")).numpy()

    def logits(self, source: np.ndarray, lens: np.ndarray, target: np.ndarray) -> np.ndarray:
        inputs = (self.paddle.to_tensor(source), self.paddle.to_tensor(target), self.paddle.to_tensor(lens, "float32"))
        return self.net(*inputs)[0].numpy()


def _bias(asked: bool) -> bool | None:
    """What Paddle's ``bias_attr`` takes: None is its own default, a bias."""
    return None if asked else False


def _decoder(paddle: Any, d2l: Any, sizes: Sizes) -> Any:
    nn, D = paddle.nn, sizes.width

    class DecoderBlock(nn.Layer):  # type: ignore[misc, name-defined]
        def __init__(self, index: int):
            super().__init__()
            self.index = index
            for number in (1, 2):
                attention = d2l.MultiHeadAttention(D, D, D, D, sizes.decoder_heads, 0.0, _bias(sizes.decoder_bias))
                setattr(self, f"attention{number}", attention)
                setattr(self, f"addnorm{number}", d2l.AddNorm([D], 0.0))
            self.ffn = d2l.PositionWiseFFN(D, sizes.ffn, D)
            self.addnorm3 = d2l.AddNorm([D], 0.0)

        def forward(self, X: Any, state: Any) -> Any:
            lens = paddle.to_tensor(numbered_lens(X), "float32") if self.training else None
            return through_block(self, X, state, lambda *both: paddle.concat(both, axis=1), lens)

    class TransformerDecoder(d2l.AttentionDecoder):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(sizes.target_vocab, D)
            self.pos_encoding = d2l.PositionalEncoding(D, 0.0)
            self.blks = nn.Sequential()
            for i in range(sizes.decoder_layers):
                self.blks.add_sublayer(str(i), DecoderBlock(i))
            self.dense = nn.Linear(D, sizes.target_vocab)

        def init_state(self, *state: Any) -> Any:
            return new_state(*state)

        def forward(self, X: Any, state: Any) -> Any:
            X = self.pos_encoding(self.embedding(X) * math.sqrt(D))
            for block in self.blks:
                X, state = block(X, state)
            return self.dense(X), state

    return TransformerDecoder()
