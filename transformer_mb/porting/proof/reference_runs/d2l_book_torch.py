"""D2L's Transformer in PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .d2l_book import Sizes, import_d2l, new_state, numbered_lens, through_block


class Book:
    def __init__(self, sizes: Sizes):
        import torch

        d2l, D = import_d2l("torch"), sizes.width
        block = (D, D, D, D, [D], D, sizes.ffn, sizes.encoder_heads)
        encoder = d2l.TransformerEncoder(sizes.source_vocab, *block, sizes.encoder_layers, 0.0, sizes.encoder_bias)
        self.net = d2l.EncoderDecoder(encoder, _decoder(torch, d2l, sizes)).train()
        self.torch = torch
        self.version = f"torch {torch.__version__}"

    def load(self, tensors: dict[str, np.ndarray]) -> None:
        self.net.load_state_dict({name: self.torch.from_numpy(array) for name, array in tensors.items()})

    def encoder(self, source: np.ndarray, lens: np.ndarray) -> np.ndarray:
        return self.net.encoder(*map(self.torch.from_numpy, (source, lens))).detach().numpy()

    def logits(self, source: np.ndarray, lens: np.ndarray, target: np.ndarray) -> np.ndarray:
        return self.net(*map(self.torch.from_numpy, (source, target, lens)))[0].detach().numpy()


def _decoder(torch: Any, d2l: Any, sizes: Sizes) -> Any:
    nn, D = torch.nn, sizes.width

    class DecoderBlock(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, index: int):
            super().__init__()
            self.index = index
            for number in (1, 2):
                attention = d2l.MultiHeadAttention(D, D, D, D, sizes.decoder_heads, 0.0, sizes.decoder_bias)
                setattr(self, f"attention{number}", attention)
                setattr(self, f"addnorm{number}", d2l.AddNorm([D], 0.0))
            self.ffn = d2l.PositionWiseFFN(D, sizes.ffn, D)
            self.addnorm3 = d2l.AddNorm([D], 0.0)

        def forward(self, X: Any, state: Any) -> Any:
            lens = torch.from_numpy(numbered_lens(X)) if self.training else None
            return through_block(self, X, state, lambda *both: torch.cat(both, dim=1), lens)

    class TransformerDecoder(d2l.AttentionDecoder):  # type: ignore[misc, name-defined]
        init_state = staticmethod(new_state)

        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(sizes.target_vocab, D)
            self.pos_encoding = d2l.PositionalEncoding(D, 0.0)
            self.blks = nn.Sequential()
            for i in range(sizes.decoder_layers):
                self.blks.add_module(f"block{i}", DecoderBlock(i))
            self.dense = nn.Linear(D, sizes.target_vocab)

        def forward(self, X: Any, state: Any) -> Any:
            X = self.pos_encoding(self.embedding(X) * math.sqrt(D))
            for block in self.blks:
                X, state = block(X, state)
            return self.dense(X), state

    return TransformerDecoder()
