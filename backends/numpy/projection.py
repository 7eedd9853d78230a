"""The projections of attention: layers that read one array are one matrix product, and so are their gradients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .framework import Linear, column_sums
from .rounding import add_bias, product
from .running import running

# Weights of this many numbers are joined in less time than a layer's call takes.
SMALL_WEIGHT = 4096


class Projection:
    """Linear layers that read the same X [B, T, size], as one matrix product; ``heads`` are [B, H, T, width] for each.

    Of layers that give fewer numbers there are fewer heads, since ``width`` is that of all.
    """

    def __init__(self, X: np.ndarray, layers: Sequence[Linear], width: int):
        self.layers = layers
        self.rows = X.reshape(-1, X.shape[-1])
        self.alike = all(type(layer) is Linear and (layer.bias is None) == (layers[0].bias is None) for layer in layers)
        # In a decoding step joining the weights would take longer than the product; other kinds have their own products.
        step = self.alike and len(layers) > 1 and not running.recording and layers[0].weight.value.size > SMALL_WEIGHT
        if not self.alike or (step and len(self.rows) < len(layers[0].weight.value)):
            parts = [layer(X) for layer in layers]
            sizes = [part.shape[-1] for part in parts]
            projected = np.concatenate(parts, axis=-1)
        else:
            sizes = [len(layer.weight.value) for layer in layers]
            self.weight = _join([layer.weight.value for layer in layers])
            projected = product(self.rows, self.weight.T)
            if layers[0].bias is not None:
                add_bias(projected, _join([layer.bias.value for layer in layers]))
        self.ends = np.cumsum(sizes)  # of each layer's numbers
        self.heads = self._parted(projected.reshape(*X.shape[:2], -1, width))

    def _parted(self, joined: np.ndarray) -> list[np.ndarray]:
        """[B, T, heads of all layers, width] -> [B, H, T, width] of each layer."""
        ends = (self.ends // joined.shape[-1]).tolist()
        return [joined[:, :, first:last].swapaxes(1, 2) for first, last in zip([0, *ends], ends, strict=False)]

    def gradients(self) -> list[np.ndarray]:
        """Allocate the arrays where attention is to put the gradients of ``heads``."""
        B, _, T, width = self.heads[0].shape
        self.gradient = np.empty((B, T, sum(part.shape[1] for part in self.heads), width), self.heads[0].dtype)
        return self._parted(self.gradient)

    def backward(self) -> np.ndarray:
        """Return the gradient of X, from the filled ``gradients``."""
        B, T = self.gradient.shape[:2]
        if not self.alike:
            parts = [part.swapaxes(1, 2).reshape(B, T, -1) for part in self._parted(self.gradient)]
            return np.sum([layer.backward(part) for layer, part in zip(self.layers, parts, strict=True)], axis=0)
        G = self.gradient.reshape(B * T, -1)
        for layer, weight in zip(self.layers, np.split(product(G.T, self.rows), self.ends[:-1]), strict=True):
            layer.weight.accumulate(weight)
        if self.layers[0].bias is not None:
            for layer, bias in zip(self.layers, np.split(column_sums(G), self.ends[:-1]), strict=True):
                layer.bias.accumulate(bias)
        return product(G, self.weight).reshape(B, T, -1)


def _join(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
