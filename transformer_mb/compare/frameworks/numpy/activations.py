"""NumPy has no activations."""

from __future__ import annotations

OPERATIONS = (
    "gelu",
    "gelu_layer",
    "leaky_relu",
    "leaky_relu_layer",
    "prelu_layer",
    "hard_sigmoid",
    "elu",
    "softplus",
    "relu",
)
ABSENT = dict.fromkeys(OPERATIONS, "NumPy has no activations.")
