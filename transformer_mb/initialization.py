"""Neutral initial weights: configuration and seed give the same NumPy arrays whatever the framework."""

from __future__ import annotations

import math

import numpy as np

from .config import TransformerConfig
from .parameters import parameter_shapes
from .random_streams import stream


def initial_weights(config: TransformerConfig, seed: int = 0) -> dict[str, np.ndarray]:
    """Initial float64 weights by canonical name.

    Linear weights are Xavier uniform (Glorot & Bengio 2010, equation 16), biases zero, normalisations the identity.
    Embeddings are normal with standard deviation 1/sqrt(D), so that they have unit variance once scaled by
    sqrt(D) (Vaswani et al. 2017, section 3.4), and a table that is also the output projection gives logits near 1.
    """
    return {name: _value(name, shape, config, seed) for name, shape in parameter_shapes(config).items()}


def _value(name: str, shape: tuple[int, ...], config: TransformerConfig, seed: int) -> np.ndarray:
    if name.endswith(".bias"):
        return np.zeros(shape)
    if "embedding.weight" in name:
        return _embedding(name, shape, config, seed)
    if len(shape) == 1:
        return np.ones(shape)
    limit = math.sqrt(6.0 / sum(shape))
    return stream(seed, "initial", name).uniform(-limit, limit, shape)


def _embedding(name: str, shape: tuple[int, ...], config: TransformerConfig, seed: int) -> np.ndarray:
    table = stream(seed, "initial", name).normal(0.0, 1.0 / math.sqrt(config.num_hiddens), shape)
    if name.endswith(".embedding.weight") and config.padding_vector_zero:
        table[config.pad_id] = 0.0
    return table
