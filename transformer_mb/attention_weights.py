"""Weights of the last call with ``need_weights=True``, as layers gather them from the attentions within; else None each."""

from __future__ import annotations

from typing import Any


class WeightsOfHeads:
    """A base of MultiHeadAttention: [B, H, T, S]."""

    @property
    def attention_weights(self: Any) -> Any:
        return self.attention.attention_weights


class WeightsOfEncoder:
    """A base of TransformerEncoder: one for each block."""

    @property
    def attention_weights(self: Any) -> list[Any]:
        return [block.attention.attention_weights for block in self.blks]


class WeightsOfDecoder:
    """A base of TransformerDecoder: one for each block's own attention, and one for each that attends to a source."""

    @property
    def attention_weights(self: Any) -> list[list[Any]]:
        own = [block.attention1.attention_weights for block in self.blks]
        return [own, [block.attention2.attention_weights for block in self.blks if block.attention2 is not None]]
