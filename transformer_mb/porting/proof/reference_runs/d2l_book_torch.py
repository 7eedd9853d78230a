"""D2L's Transformer in PyTorch."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from .d2l_book import Book, Sizes, import_d2l


class FrameworkBook(Book):
    def __init__(self, sizes: Sizes):
        import torch

        self.d2l, self.torch, width = import_d2l("torch"), torch, sizes.width
        self.nn, self.tensor = torch.nn, torch.from_numpy
        block = (width, width, width, width, [width], width, sizes.ffn, sizes.encoder_heads)
        encoder = self.d2l.TransformerEncoder(
            sizes.source_vocab, *block, sizes.encoder_layers, sizes.dropout, sizes.encoder_bias
        )
        super().__init__(torch, torch.nn.Module, encoder, sizes)
        self.net.train()

    def load(self, tensors: dict[str, np.ndarray]) -> None:
        self.net.load_state_dict({name: self.tensor(array) for name, array in tensors.items()})

    def array(self, outputs: Any) -> np.ndarray:
        return outputs.detach().numpy()

    def dense(self) -> Any:
        return self.nn.Linear(self.sizes.width, self.sizes.target_vocab)

    def blocks(self, blocks: list[Any]) -> Any:
        return self.nn.Sequential(OrderedDict((f"block{i}", block) for i, block in enumerate(blocks)))

    def joined(self, X: Any, Y: Any) -> Any:
        return self.torch.cat((X, Y), dim=1)
