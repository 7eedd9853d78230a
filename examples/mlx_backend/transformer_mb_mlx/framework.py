"""Parameters and modules with the canonical names, linear layers and embeddings on MLX arrays; and derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mlx.core as mx
import numpy

from transformer_mb.representation import settings

_initial = numpy.random.default_rng()


class Parameter:
    """A weight. While something is differentiated by it, ``value`` is what MLX traces."""

    def __init__(self, value: numpy.ndarray):
        self.value: Any = mx.array(value, mx.float32)


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
        Y = X @ self.weight.value.T
        return Y if self.bias is None else Y + self.bias.value


class TiedLinear(Module):
    """An output projection by an embedding's table, whose pad row learns nothing here either."""

    def __init__(self, table: Embedding, bias: Parameter | None):
        self.weight, self.bias, self.padding_id = table.weight, bias, table.padding_id

    def forward(self, X: Any) -> Any:
        table = self.weight.value
        if self.padding_id is not None:
            table = held(table, (numpy.arange(table.shape[0]) == self.padding_id)[:, None])
        Y = X @ table.T
        return Y if self.bias is None else Y + self.bias.value


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
        X = mx.take(self.weight.value, mx.array(ids), axis=0)
        return X if self.padding_id is None else held(X, (ids == self.padding_id)[..., None])


def filled(X: Any, keep: Any, value: float) -> Any:
    """X where ``keep`` is true, which broadcasts to its shape, else ``value``, which has no gradient."""
    return mx.where(mx.array(keep), X, mx.array(value, X.dtype))


def held(X: Any, where: numpy.ndarray) -> Any:
    """X, whose gradient is zero where ``where`` is true."""
    return mx.where(mx.array(where), mx.stop_gradient(X), X)


def is_float(leaf: Any) -> bool:
    return isinstance(leaf, mx.array) and mx.issubdtype(leaf.dtype, mx.floating)


def differentiated(function: Callable[[list[Any]], Any], arrays: Sequence[Any], cotangent: Any) -> tuple[Any, list[Any]]:
    """Return ``function(arrays)`` and the gradient of its product with the cotangent for each array."""
    if not arrays:
        return function([]), []
    outputs, gradients = mx.vjp(lambda *values: [function(list(values))], list(arrays), [cotangent])
    return outputs[0], gradients


@contextmanager
def in_place_of(parameters: Sequence[Parameter], values: Sequence[Any]) -> Iterator[None]:
    """Have parameters hold what MLX traces inside the block."""
    before = [parameter.value for parameter in parameters]
    try:
        for parameter, value in zip(parameters, values, strict=True):
            parameter.value = value
        yield
    finally:
        for parameter, value in zip(parameters, before, strict=True):
            parameter.value = value
