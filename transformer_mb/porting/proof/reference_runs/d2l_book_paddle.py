"""D2L's Transformer in Paddle; Paddle 3 takes the lengths as float32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...families.naming_schemes import D2L_SCHEMES, native_name
from .d2l_book import Book, Sizes, import_d2l


class FrameworkBook(Book):
    def __init__(self, sizes: Sizes):
        import paddle

        self.d2l, self.paddle, width = import_d2l("paddle"), paddle, sizes.width
        self.nn, self.tensor = paddle.nn, paddle.to_tensor
        # What Paddle's ``bias_attr`` takes: None is its own default, a bias.
        biases = [None if bias else False for bias in (sizes.encoder_bias, sizes.decoder_bias)]
        sizes = replace(sizes, encoder_bias=biases[0], decoder_bias=biases[1])
        block = (width, width, width, width, [width], width, sizes.ffn, sizes.encoder_heads)
        encoder = self.d2l.TransformerEncoder(
            sizes.source_vocab, *block, sizes.encoder_layers, sizes.dropout, sizes.encoder_bias
        )
        super().__init__(paddle, paddle.nn.Layer, encoder, sizes)
        self.net.train()

    def load(self, tensors: dict[str, np.ndarray]) -> None:
        own = {native_name(name, D2L_SCHEMES["paddle"]): self.tensor(array) for name, array in tensors.items()}
        missing, unexpected = self.net.set_state_dict(own)
        assert not missing and not unexpected, (missing, unexpected)

    def lengths(self, lens: np.ndarray) -> Any:
        return self.paddle.to_tensor(lens, "float32")

    def dense(self) -> Any:
        return self.nn.Linear(self.sizes.width, self.sizes.target_vocab)

    def blocks(self, blocks: list[Any]) -> Any:
        return self.nn.Sequential(*blocks)

    def joined(self, X: Any, Y: Any) -> Any:
        return self.paddle.concat((X, Y), axis=1)
