"""What a user's module does around bare stacks, written for the probe: embeddings, positions, output, greedy choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....positions import sinusoid_table
from ...families.nn_transformer import AROUND, POSITIONS
from ..probe import END


class AroundStacks:
    """The layers that the settings name; unit vectors where there are none."""

    def __init__(
        self, config: TransformerConfig, tensors: Mapping[str, np.ndarray], settings: Mapping[str, Any], transposed: bool
    ):
        self.config = config
        self.found = {}
        for setting, layer in {**AROUND, **POSITIONS}.items():
            name = str(settings.get(setting, setting)).removesuffix(".weight")
            for leaf in ("weight", "bias"):
                if f"{name}.{leaf}" in tensors:
                    # Not in float16: scaling the embeddings would round them once more than the ported model does.
                    array = tensors[f"{name}.{leaf}"]
                    self.found[f"{layer}.{leaf}"] = array.astype(np.promote_types(array.dtype, np.float32))
        if transposed and "decoder.dense.weight" in self.found:
            self.found["decoder.dense.weight"] = self.found["decoder.dense.weight"].T

    def embedded(self, side: str, tokens: np.ndarray) -> np.ndarray:
        """[B, T] -> [B, T, D] float32."""
        config = self.config
        table = self.found.get(f"{side}.embedding.weight")
        if table is None and side == "decoder" and config.share_embeddings:
            table = self.found.get("encoder.embedding.weight")
        if table is None:
            return np.eye(config.num_hiddens, dtype=np.float32)[tokens]
        vectors = table[tokens] * (np.sqrt(config.num_hiddens) if config.embedding_scale else 1.0)
        if config.position == "sinusoidal":
            rows = sinusoid_table(tokens.shape[1] + config.position_offset, config.num_hiddens, config.sinusoid_layout)
        else:
            rows = self.found[f"{side}.pos_embedding.weight"]
        return (vectors + rows[config.position_offset :][: tokens.shape[1]]).astype(np.float32)

    def logits(self, states: np.ndarray) -> np.ndarray:
        """[B, T, D] -> [B, T, V]."""
        weight = self.found.get("decoder.dense.weight")
        if weight is None and self.config.tie_output:
            weight = self.found.get("decoder.embedding.weight", self.found.get("encoder.embedding.weight"))
        logits = states if weight is None else states @ weight.T
        return np.ascontiguousarray(logits + self.found.get("decoder.dense.bias", np.float32(0.0)))


def greedy(logits: Callable[[np.ndarray], np.ndarray], rows: int, config: TransformerConfig, max_steps: int) -> np.ndarray:
    """[B, max_steps] int64: the whole prefix is computed again at every step; ``END`` from the end token on."""
    target = np.full((rows, 1), config.start_id, np.int64)
    for _ in range(max_steps):
        last = logits(target)[:, -1].copy()
        last[:, list(config.suppress_ids)] = -np.inf
        target = np.concatenate([target, last.argmax(axis=1)[:, None].astype(np.int64)], axis=1)
    tokens = target[:, 1:]
    ended = np.maximum.accumulate(tokens == config.eos_id, axis=1)
    return np.where(ended, END, tokens)
