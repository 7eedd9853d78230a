"""TensorFlow's built-ins, and those of Keras."""

from __future__ import annotations

from . import arrays, compiling, layers, losses, training

TABLES = arrays.TABLES | layers.TABLES | losses.TABLES | training.TABLES | compiling.TABLES
