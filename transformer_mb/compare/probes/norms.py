"""Normalization: epsilons, the variance that is meant, and how exactly it is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..facts import Probe
from ..reading import rounded

Ask = Callable[..., Any]
ROW = np.array([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]])


def _layer_norm_epsilon(layer_norm: Ask) -> float:
    """Of a row of variance v and mean 0 the first element becomes a / sqrt(v + epsilon)."""
    a = 1e-2
    output = float(np.asarray(layer_norm((a * ROW).astype("float32")), np.float64)[0, 0])
    return rounded((a / output) ** 2 - a**2, 2)


PROBES = (
    Probe(
        name="layer norm epsilon",
        operation="layer_norm",
        measure=_layer_norm_epsilon,
        decoy=5e-2,
        kind="close",
        question="What does layer normalization add to the variance, unless told?",
        meaning="Where activations are small, weights that move with another epsilon make another model.",
        setting="The layer's epsilon: `eps` in torch, `epsilon` elsewhere; here `norm_eps`.",
        sources=("keras.io/api/layers/normalization_layers/layer_normalization", "mlx#1049"),
    ),
)
