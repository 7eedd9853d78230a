"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from transformer_mb.checks import check_same
from transformer_mb.config import check_rate
from transformer_mb.dropout_masks import injected

from .shortcuts.random_masks import kept


class Dropout(nn.Dropout):
    """nn.Dropout; uses the mask ``keep`` when one is set."""

    keep: Tensor | None = None

    def __init__(self, rate: float):
        check_rate("dropout", rate)
        super().__init__(rate)

    def forward(self, X: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return X
        if self.keep is None and (X.device.type != "cpu" or torch.compiler.is_compiling()):
            return super().forward(X)
        return X * self._factors(X.shape, X)

    def _factors(self, shape: Sequence[int], like: Tensor) -> Tensor:
        """Return what numbers of that shape are multiplied with: 0 where they are dropped, else 1 / (1 - rate)."""
        if self.keep is None and like.device.type != "cpu":
            return super().forward(like.new_ones(shape))
        if self.keep is None:
            factors = kept(shape, self.p)
        else:
            check_same("The dropout mask", self.keep.shape, "its input", shape)
            factors = self.keep.to(like.device)
        return factors.to(like.dtype).mul_(1.0 / (1.0 - self.p))


def dropouts(module: nn.Module) -> dict[str, Dropout]:
    """Every dropout within that drops something, by path."""
    return {path: sub for path, sub in module.named_modules() if isinstance(sub, Dropout) and sub.p > 0.0}


def injected_dropout(module: Any, masks: Mapping[str, Any] | None) -> AbstractContextManager[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    weight = next(module.parameters(), None) if masks else None
    # Beside the weights at once: CUDA graphs take no inputs of the processor's.
    return injected(dropouts, module, masks, partial(torch.as_tensor, device=None if weight is None else weight.device))


@contextmanager
def seeded_dropout(model: nn.Module, seed: int, step: int, batch: Any) -> Iterator[None]:
    """Inside, what is dropped depends on the seed and the step alone; the caller's random numbers stay as they were."""
    device = next(model.parameters()).device
    cuda = device.type == "cuda"
    generator = torch.cuda.default_generators[device.index or 0] if cuda else torch.default_generator
    before = generator.get_state()
    # Not torch.manual_seed: where CUDA is not in use, it remembers a stack trace at every call.
    generator.manual_seed(hash((seed, step)))
    try:
        yield
    finally:
        generator.set_state(before)
