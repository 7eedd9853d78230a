"""torch's tensors: where they are, their dtypes, special numbers and indices, and gradients at kinks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from ..calls import Table, calls, follows_array, follows_tensor

# Tensors and layers are told their device one by one. torch.set_default_device would tell them all, but puts a mode around
# every call, in which nn.TransformerEncoder has another way.
_chosen = {"device": torch.device("cpu")}


def here() -> torch.device:
    return _chosen["device"]


def from_numpy(X: np.ndarray) -> Tensor:
    """Make a tensor on the device; on the CPU it shares the memory of ``X``."""
    return torch.from_numpy(X).to(here())


def to_numpy(X: Tensor) -> np.ndarray:
    """Make an array; of a tensor on the CPU it shares the memory."""
    return X.detach().cpu().numpy()


called = calls(from_numpy, to_numpy)


def gradient(function: Callable[..., Tensor], of: int = 1) -> Callable[..., tuple[Tensor, ...] | Tensor]:
    """Return the gradients of the sum of a function's output by its first arguments."""

    def gradients(*arguments: Any) -> tuple[Tensor, ...] | Tensor:
        total = function(*(one.requires_grad_() for one in arguments[:of]), *arguments[of:]).sum()
        found = torch.autograd.grad(total, arguments[:of])
        return found if of > 1 else found[0]

    return gradients


def _dtype(name: str) -> torch.dtype:
    return getattr(torch, name)


TABLES: dict[str, Table] = {
    "device": {
        "default": lambda: "cpu",
        "use": lambda device: _chosen.update(device=torch.device(device)),
    },
    "numbers": called(
        returned=lambda X: X,
        from_python=lambda values: torch.tensor(values, device=here()),
        arange=lambda count: torch.arange(count, device=here()),
        add=operator.add,
        add_number=operator.add,
        divide=operator.truediv,
        total=torch.sum,
        mean=torch.mean,
        matmul=lambda X, Y, dtype: (X.to(_dtype(dtype)) @ Y.to(_dtype(dtype))).float(),
    )
    | {
        "follows_array": follows_array(from_numpy),
        "follows_tensor": follows_tensor(lambda X: torch.tensor(X, device=here()), to_numpy),
    },
    "special_numbers": called(
        multiply=operator.mul,
        floor_divide=operator.floordiv,
        argmax=torch.argmax,
        whole=torch.round,
        cast=lambda X, dtype: X.to(_dtype(dtype)),
    ),
    "indices": called(
        take=lambda X, ids: X.index_select(0, ids),
        index=lambda X, ids: X[ids],
        argmax=lambda X: X.argmax(-1),
        maximum=lambda X: X.amax(-1),
        top_k=lambda X, k: X.topk(k).indices,
        argsort=torch.argsort,
        one_hot=F.one_hot,
    ),
    "kinks": called(
        relu=gradient(F.relu),
        leaky_relu=gradient(F.leaky_relu),
        absolute=gradient(torch.abs),
        largest=gradient(torch.max),
        largest_along=gradient(lambda x: x.max(-1).values),
        larger=gradient(torch.maximum),
        clip=gradient(torch.clip),
        norm=gradient(torch.linalg.vector_norm),
        deviation=gradient(torch.std),
        product=gradient(torch.prod),
        power=gradient(operator.pow),
        logsumexp=gradient(lambda x: x.logsumexp(-1)),
    ),
}
