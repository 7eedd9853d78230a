"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import paddle
from paddle import Tensor, nn

from transformer_mb.checks import check_same
from transformer_mb.config import check_rate
from transformer_mb.dropout_masks import batch_sites, drawn_masks, injected


class Dropout(nn.Dropout):
    """nn.Dropout; uses the mask ``keep`` when one is set."""

    # A NumPy array: a tensor would become a buffer of the layer, which this class attribute hides.
    keep: np.ndarray | None = None

    def __init__(self, rate: float):
        check_rate("dropout", rate)
        super().__init__(rate)

    def forward(self, X: Tensor) -> Tensor:
        if not self.training:
            return X
        if self.keep is None:
            return super().forward(X)
        check_same("The dropout mask", self.keep.shape, "its input", X.shape)
        if X.dtype not in (paddle.float32, paddle.float64):
            return X * paddle.to_tensor(self.keep, X.dtype, X.place) * (1.0 / (1.0 - self.p))
        factors = np.multiply(self.keep, 1.0 / (1.0 - self.p), dtype=str(X.dtype).removeprefix("paddle."))
        return X * paddle.to_tensor(factors, place=X.place)


def dropouts(module: nn.Layer) -> dict[str, Dropout]:
    """Every dropout within that drops something, by path."""
    return {path: sub for path, sub in module.named_sublayers(include_self=True) if isinstance(sub, Dropout) and sub.p > 0.0}


def injected_dropout(module: Any, masks: Mapping[str, np.ndarray] | None) -> AbstractContextManager[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    return injected(dropouts, module, masks, np.asarray)


@contextmanager
def seeded_dropout(model: nn.Layer, seed: int, step: int, batch: Any) -> Iterator[None]:
    """Inside, what is dropped depends on the seed and the step alone; the caller's random numbers stay as they were.

    On the CPU by NumPy, whose numbers take a fifth of the time.
    """
    if model.parameters()[0].place.is_cpu_place():
        with injected_dropout(model, drawn_masks(batch_sites(model.config, batch), seed, step)):
            yield
        return
    with kept_random_state():
        paddle.seed(hash((seed, step)) & 0x7FFFFFFFFFFFFFFF)
        yield


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Inside, paddle.seed may be called: it seeds the generators of all devices, and here they are put back."""
    devices = ["cpu", "gpu"] if paddle.device.cuda.device_count() else ["cpu"]  # of "gpu" the states are those of all GPUs
    states = {device: paddle.get_rng_state(device) for device in devices}
    try:
        yield
    finally:
        for device, state in states.items():
            paddle.set_rng_state(state, device)
