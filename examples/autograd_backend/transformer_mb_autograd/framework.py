"""Parameters, modules, linear layers and embeddings, which autograd has none of; and its derivatives of many arrays at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import autograd.numpy as np
import numpy
from autograd import make_vjp
from autograd.extend import defvjp, primitive
from autograd.tracer import getval

from transformer_mb.representation import settings

_initial = numpy.random.default_rng()


class Parameter:
    """A weight. While something is differentiated by it, ``value`` is what autograd traces."""

    def __init__(self, value: numpy.ndarray):
        self.value: Any = value


class Module:
    """A layer, whose parameters and sub-layers are its attributes."""

    training = True

    def __repr__(self) -> str:
        inside = [f"({name}): {value!r}".replace("\n", "\n  ") for name, value in self._children()]
        shown = self.extra_repr()
        if not inside:
            return f"{type(self).__name__}({shown})"
        return "\n  ".join([f"{type(self).__name__}(", *([shown] if shown else []), *inside]) + "\n)"

    def extra_repr(self) -> str:
        """Return what ``repr`` says before the layers inside."""
        return settings(self)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return self.forward(*inputs, **options)

    def _children(self) -> list[tuple[str, Module]]:
        return [(name, value) for name, value in vars(self).items() if isinstance(value, Module)]

    def named_modules(self, path: str = "") -> Iterator[tuple[str, Module]]:
        """Return this module and all inside it, by dotted path."""
        yield path, self
        for name, child in self._children():
            yield from child.named_modules(f"{path}.{name}" if path else name)

    def named_parameters(self) -> dict[str, Parameter]:
        """Return each parameter once, under its first name."""
        found: dict[int, tuple[str, Parameter]] = {}
        for path, module in self.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, Parameter):
                    found.setdefault(id(value), (f"{path}.{name}" if path else name, value))
        return dict(found.values())

    def train(self, mode: bool = True) -> Module:
        for _, module in self.named_modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        return self.train(False)


class ModuleList(Module):
    """Blocks in a row, named block0, block1 and so on, as the canonical names have them."""

    def __init__(self, modules: Sequence[Module]):
        for i, module in enumerate(modules):
            setattr(self, f"block{i}", module)

    def __iter__(self) -> Iterator[Any]:
        return (child for _, child in self._children())

    def __len__(self) -> int:
        return len(self._children())


class Linear(Module):
    """X [..., in] to X W^T + b [..., out], the weight being [out, in]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        limit = math.sqrt(6.0 / (in_features + out_features))
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(_initial.uniform(-limit, limit, (out_features, in_features)))
        self.bias = Parameter(numpy.zeros(out_features)) if bias else None

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"

    def forward(self, X: Any) -> Any:
        Y = np.dot(np.reshape(X, (-1, X.shape[-1])), self.weight.value.T)
        Y = Y if self.bias is None else Y + self.bias.value
        return np.reshape(Y, (*X.shape[:-1], self.weight.value.shape[0]))


class TiedLinear(Module):
    """An output projection by an embedding's table, whose pad row learns nothing here either."""

    def __init__(self, table: Embedding, bias: Parameter | None):
        self.weight, self.bias, self.padding_id = table.weight, bias, table.padding_id

    def forward(self, X: Any) -> Any:
        table = self.weight.value
        if self.padding_id is not None:
            table = held(table, (numpy.arange(len(table)) == self.padding_id)[:, None])
        Y = np.dot(np.reshape(X, (-1, X.shape[-1])), table.T)
        Y = Y if self.bias is None else Y + self.bias.value
        return np.reshape(Y, (*X.shape[:-1], len(table)))


class Embedding(Module):
    """Token ids to rows of the weight [V, D]; the row of ``padding_id`` starts at zero and gets no gradient."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_id: int | None = None):
        weight = _initial.standard_normal((num_embeddings, embedding_dim))
        if padding_id is not None:
            weight[padding_id] = 0.0
        self.weight, self.padding_id = Parameter(weight), padding_id

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.weight.value.shape))

    def forward(self, ids: numpy.ndarray) -> Any:
        X = self.weight.value[ids]
        return X if self.padding_id is None else held(X, (ids == self.padding_id)[..., None])


# autograd's own ``where`` makes the gradient of float32 one of float64; these keep the dtype.


@primitive
def filled(X: Any, keep: numpy.ndarray, value: float) -> Any:
    """X where ``keep`` is true, which broadcasts to its shape, else ``value``, which has no gradient."""
    return numpy.where(keep, X, numpy.asarray(value, X.dtype))


defvjp(filled, lambda ans, X, keep, value: lambda g: filled(g, keep, 0.0), argnums=(0,))


@primitive
def held(X: Any, where: numpy.ndarray) -> Any:
    """X, whose gradient is zero where ``where`` is true."""
    return X


defvjp(held, lambda ans, X, where: lambda g: filled(g, ~where, 0.0), argnums=(0,))


def is_float(leaf: Any) -> bool:
    return isinstance(leaf, numpy.ndarray) and leaf.dtype.kind == "f"


def differentiated(
    function: Callable[[list[Any]], Any], arrays: Sequence[numpy.ndarray], dtype: str
) -> tuple[numpy.ndarray, Callable[[Any], list[numpy.ndarray]]]:
    """Return ``function(arrays)`` and what pulls a cotangent of it back to a gradient for each array.

    The arrays are traced as one, which takes autograd a single derivative.
    """
    ends = numpy.cumsum([0, *(array.size for array in arrays)])
    places = list(zip(ends[:-1], ends[1:], (array.shape for array in arrays), strict=True))

    def of_one(flat: Any) -> Any:
        return function([np.reshape(flat[start:end], shape) for start, end, shape in places])

    flat = numpy.concatenate([numpy.zeros(0, dtype), *(array.reshape(-1) for array in arrays)]).astype(dtype)
    pull, output = make_vjp(of_one)(flat)

    def pulled(cotangent: Any) -> list[numpy.ndarray]:
        gradient = numpy.asarray(pull(cotangent), dtype)
        return [gradient[start:end].reshape(shape) for start, end, shape in places]

    return getval(output), pulled


@contextmanager
def in_place_of(parameters: Sequence[Parameter], values: Sequence[Any]) -> Iterator[None]:
    """Have parameters hold what autograd traces inside the block."""
    before = [parameter.value for parameter in parameters]
    try:
        for parameter, value in zip(parameters, values, strict=True):
            parameter.value = value
        yield
    finally:
        for parameter, value in zip(parameters, before, strict=True):
            parameter.value = value
