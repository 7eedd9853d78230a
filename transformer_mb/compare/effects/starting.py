"""Initial weights as a framework's own layers would have them, from the seed's numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...config import TransformerConfig
from ...initialization import initial_weights
from ...random_streams import stream

Weights = dict[str, np.ndarray]


def starting_weights(config: TransformerConfig, seed: int, changes: tuple[str, ...]) -> Weights:
    """Glorot-uniform dense weights, zero biases, normal embeddings of variance 1/size; then ``changes``, by name."""
    weights = initial_weights(config, seed)
    for change in changes:
        weights |= CHANGES[change](weights, config, seed)
    return weights


def _of_torch(chosen: Callable[[str], bool]) -> Callable[[Weights, TransformerConfig, int], Weights]:
    def change(weights: Weights, config: TransformerConfig, seed: int) -> Weights:
        torch = initial_weights(config, seed, "torch_default")
        return {name: torch[name] for name in weights if chosen(name)}

    return change


def _uniform(chosen: Callable[[str], bool], limit: float) -> Callable[[Weights, TransformerConfig, int], Weights]:
    def change(weights: Weights, config: TransformerConfig, seed: int) -> Weights:
        return {
            name: stream(seed, "initial", name).uniform(-limit, limit, value.shape)
            for name, value in weights.items()
            if chosen(name) and value.ndim == 2
        }

    return change


def _is_embedding(name: str) -> bool:
    return "embedding.weight" in name


def _is_dense(name: str) -> bool:
    """A norm's weight too, which every scheme starts with ones."""
    return name.endswith(".weight") and not _is_embedding(name)


def _padding_rows(weights: Weights, config: TransformerConfig, seed: int) -> Weights:
    tables = {name: value.copy() for name, value in weights.items() if _is_embedding(name)}
    for table in tables.values():
        table[config.pad_id] = 0.0
    return tables


def _next_larger(weights: Weights, config: TransformerConfig, seed: int) -> Weights:
    upwards = np.float32(np.inf)
    return {name: np.nextafter(value.astype(np.float32), upwards).astype(value.dtype) for name, value in weights.items()}


CHANGES: dict[str, Callable[[Weights, TransformerConfig, int], Weights]] = {
    "dense of torch": _of_torch(_is_dense),
    "dense of mxnet": _uniform(_is_dense, 0.07),
    "biases of torch": _of_torch(lambda name: name.endswith(".bias")),
    "embeddings of torch": _of_torch(_is_embedding),
    "embeddings of keras": _uniform(_is_embedding, 0.05),
    "padding rows zero": _padding_rows,
    "next larger": _next_larger,
}
