"""Dropout whose mask can be injected, so that training with dropout can be compared across frameworks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from transformer_mb.checks import check_same
from transformer_mb.config import TransformerConfig, check_rate
from transformer_mb.dropout_masks import batch_sites, injected


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
        """What numbers of that shape are multiplied with: 0 where they are dropped, else 1 / (1 - rate)."""
        if self.keep is None and like.device.type != "cpu":
            return super().forward(like.new_ones(shape))
        if self.keep is None:
            kept = _kept(shape, self.p)
        else:
            check_same("The dropout mask", self.keep.shape, "its input", shape)
            kept = self.keep.to(like.device)
        return kept.to(like.dtype).mul_(1.0 / (1.0 - self.p))


def _kept(shape: Sequence[int], rate: float) -> Tensor:
    """0 and 1 as int16, by sixteen random bits each: the CPU draws four of them in a sixth of a Bernoulli number's time."""
    count = math.prod(shape)
    bits = torch.empty(-(-count // 4), dtype=torch.int64).random_(-(2**63), None).view(torch.int16)[:count]
    # In place, so that no booleans come between: torch compares and converts those several times slower.
    return bits.ge_(min(round(rate * 2**16), 2**16 - 1) - 2**15).view(shape)


def dropouts(module: nn.Module) -> dict[str, Dropout]:
    """Every dropout within that drops something, by path."""
    return {path: sub for path, sub in module.named_modules() if isinstance(sub, Dropout) and sub.p > 0.0}


def injected_dropout(module: Any, masks: Mapping[str, Any] | None) -> AbstractContextManager[None]:
    """Inside, the dropouts of ``module`` keep what ``masks`` says, by path; None changes nothing."""
    weight = next(module.parameters(), None) if masks else None
    # Beside the weights at once: CUDA graphs take no inputs of the processor's.
    return injected(dropouts, module, masks, partial(torch.as_tensor, device=None if weight is None else weight.device))


def _drawn_masks(config: TransformerConfig, batch: Any) -> dict[str, Tensor]:
    """What ``injected_dropout`` takes, of torch's own random numbers: outside a compiled step, where the CPU draws faster."""
    sites = batch_sites(config, batch)
    return {path: _kept(shape, rate).bool() for path, (rate, shape) in sites.items()}


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
