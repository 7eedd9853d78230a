"""What torch.nn.Transformer and paddle.nn.Transformer need to run: what a user's module does around bare stacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....positions import sinusoid_table
from ...families.nn_transformer import AROUND, POSITIONS, prefix_of
from ..probe import greedy_tokens, parts


class AroundStacks:
    """The layers that the settings name; unit vectors where there are none."""

    def __init__(
        self, config: TransformerConfig, tensors: Mapping[str, np.ndarray], settings: Mapping[str, Any], transposed: bool
    ):
        self.config = config
        self.weights = {}
        for setting, layer in {**AROUND, **POSITIONS}.items():
            name = str(settings.get(setting, setting)).removesuffix(".weight")
            for leaf in ("weight", "bias"):
                if f"{name}.{leaf}" in tensors:
                    # Not in float16: scaling the embeddings would round them once more than the ported model does.
                    array = tensors[f"{name}.{leaf}"]
                    self.weights[f"{layer}.{leaf}"] = array.astype(np.promote_types(array.dtype, np.float32))
        if transposed and "decoder.dense.weight" in self.weights:
            self.weights["decoder.dense.weight"] = self.weights["decoder.dense.weight"].T

    def embedded(self, side: str, tokens: np.ndarray) -> np.ndarray:
        """[B, T] -> [B, T, D] float32."""
        config = self.config
        table = self.weights.get(f"{side}.embedding.weight")
        if table is None and side == "decoder" and config.share_embeddings:
            table = self.weights.get("encoder.embedding.weight")
        if table is None:
            return np.eye(config.num_hiddens, dtype=np.float32)[tokens]
        vectors = table[tokens] * (np.sqrt(config.num_hiddens) if config.embedding_scale else 1.0)
        if config.position == "sinusoidal":
            rows = sinusoid_table(tokens.shape[1] + config.position_offset, config.num_hiddens, config.sinusoid_layout)
        else:
            rows = self.weights[f"{side}.pos_embedding.weight"]
        return (vectors + rows[config.position_offset :][: tokens.shape[1]]).astype(np.float32)

    def logits(self, states: np.ndarray) -> np.ndarray:
        """[B, T, D] -> [B, T, V]."""
        weight = self.weights.get("decoder.dense.weight")
        if weight is None and self.config.tie_output:
            weight = self.weights.get("decoder.embedding.weight", self.weights.get("encoder.embedding.weight"))
        logits = states if weight is None else states @ weight.T
        return np.ascontiguousarray(logits + self.weights.get("decoder.dense.bias", np.float32(0.0)))


def run_stacks(
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    framework: Any,
    stacks_of: Callable[..., Any],
    transposed: bool,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """``stacks_of(config, tensors)`` gives the framework's own, with ``encode(X, valid)`` and ``decode(Y, memory, valid)``.

    Both take arrays [B, T, D], and the truth values [B, S] of the positions that may be attended to, and give arrays.
    """
    config = TransformerConfig.from_dict(settings["config"])
    batch, tensors = parts(arrays)
    prefix = prefix_of(tensors) or ""
    stacks = stacks_of(config, {name.removeprefix(prefix): array for name, array in tensors.items()})
    around = AroundStacks(config, tensors, settings["given"], transposed)
    valid = np.arange(batch["source"].shape[1]) < batch["source_valid_lens"][:, None]
    memory = stacks.encode(around.embedded("encoder", batch["source"]), valid)
    outputs = {"encoder": memory}
    if config.has_decoder:

        def logits(target: np.ndarray) -> np.ndarray:
            return around.logits(stacks.decode(around.embedded("decoder", target), memory, valid))

        outputs["logits"] = logits(batch["target"])
        outputs["tokens"] = greedy_tokens(logits, len(batch["source"]), config, settings["max_steps"])
    ran = f"the stacks of {framework.__name__} {framework.__version__}, layers around them by this project's formula"
    return outputs, {"ran": ran}
