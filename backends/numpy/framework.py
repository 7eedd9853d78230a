"""Parts that other backends get from their framework: parameters, layers with a backward pass, linear maps, embeddings.

``forward`` remembers what ``backward`` needs; ``backward`` takes the gradient of the output, adds to each parameter's
gradient, and returns the gradients of the layer's float inputs in their order. It runs once after each forward. No
layer ever writes into its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from transformer_mb.errors import DtypeError
from transformer_mb.layer_calls import Called
from transformer_mb.representation import settings

from .rounding import add_bias, in_float32, product
from .running import running

# Scores this near zero need no shift before exp: e^40 is far from overflow and e^-40 from underflow, in float32 too.
SAFE_EXPONENT = 40.0
# Of so few numbers any operation takes a microsecond: a decoding step's count, not their sizes.
SMALL = 1024

_initial = np.random.default_rng()


class Parameter:
    """A weight and its gradient, which is None until something adds to it. ``frozen_row`` never gets a gradient."""

    def __init__(self, value: np.ndarray, frozen_row: int | None = None):
        self.value = value
        self.gradient: np.ndarray | None = None
        self.frozen_row = frozen_row

    def accumulate(self, gradient: np.ndarray, rows: Any = slice(None)) -> None:
        """Add to the gradient, or to some rows of it, each named once."""
        if self.gradient is None:
            self.gradient = np.zeros_like(self.value)
        self.gradient[rows] += gradient
        if self.frozen_row is not None:
            self.gradient[self.frozen_row] = 0.0


class Layer(Called):
    """Finds its parameters and sub-layers among its attributes; their names are the attributes' names."""

    _training = True
    _saved: tuple[Any, ...] | None = None

    @property
    def training(self) -> bool:
        """True where the layer drops out: its own mode, or inside ``in_mode`` that of all."""
        return self._training if running.training is None else running.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._training = mode

    def extra_repr(self) -> str:
        """Return what ``repr`` says before the layers inside."""
        return settings(self)

    def __repr__(self) -> str:
        inside = [(name, value) for name, value in vars(self).items() if isinstance(value, Layer)]
        lines = [f"({name}): {value!r}".replace("\n", "\n  ") for name, value in inside]
        shown = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({shown})"
        return "\n  ".join([f"{type(self).__name__}(", *([shown] if shown else []), *lines]) + "\n)"

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        if options:
            self._check_keywords(options)
        return self.forward(*inputs, **options)

    def forward(self, *inputs: Any, **options: Any) -> Any:
        raise NotImplementedError

    def backward(self, gradient: np.ndarray) -> Any:
        raise NotImplementedError

    def remember(self, *values: Any) -> None:
        self._saved = values if running.recording else None

    def recall(self) -> tuple[Any, ...]:
        """Return what forward remembered, and forget it: its memory is free as soon as backward is past it."""
        if self._saved is None:
            raise RuntimeError(f"{type(self).__name__}.backward needs a forward before it, outside no_gradients().")
        saved, self._saved = self._saved, None
        return saved

    def named_layers(self, path: str = "") -> Iterator[tuple[str, Layer]]:
        """Return this layer and all inside it, by dotted path."""
        yield path, self
        for name, value in list(vars(self).items()):
            if isinstance(value, Layer):
                yield from value.named_layers(f"{path}.{name}" if path else name)

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """A parameter that several layers share comes once, under its first name."""
        seen = set()
        for path, layer in self.named_layers():
            for name, value in list(vars(layer).items()):
                if isinstance(value, Parameter) and id(value) not in seen:
                    seen.add(id(value))
                    yield f"{path}.{name}" if path else name, value

    def zero_gradients(self) -> None:
        for _, parameter in self.named_parameters():
            if parameter.gradient is not None:
                parameter.gradient[...] = 0.0

    def train(self, mode: bool = True) -> Layer:
        for _, layer in self.named_layers():
            layer.training = mode
        return self

    def eval(self) -> Layer:
        return self.train(False)

    def to(self, dtype: str) -> Layer:
        """Change the dtype of all parameters, in place."""
        for _, parameter in self.named_parameters():
            if parameter.value.dtype == dtype:
                continue
            if parameter.value.base is not None:
                raise DtypeError(f"A model that a trainer holds stays {parameter.value.dtype}, got {dtype}.")
            parameter.value, parameter.gradient = parameter.value.astype(dtype), None
        return self


class Sequential(Layer):
    """Layers in a row, each under a name of its own."""

    def add_module(self, name: str, layer: Layer) -> None:
        setattr(self, name, layer)

    def __iter__(self) -> Iterator[Any]:
        return (value for value in vars(self).values() if isinstance(value, Layer))

    def __reversed__(self) -> Iterator[Any]:
        return reversed(list(self))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def initial_weight(out_features: int, in_features: int) -> np.ndarray:
    """Uniform between plus and minus sqrt(6 / (in + out)) (Glorot & Bengio 2010, equation 16)."""
    limit = math.sqrt(6.0 / (in_features + out_features))
    return (2.0 * _initial.random((out_features, in_features), np.float32) - 1.0) * limit


class Linear(Layer):
    """X [..., in] to X W^T + b [..., out], the weight being [out, in]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        self.in_features = in_features
        self.weight = Parameter(initial_weight(out_features, in_features))
        self.bias = Parameter(np.zeros(out_features, np.float32)) if bias else None

    def extra_repr(self) -> str:
        outputs, inputs = self.weight.value.shape
        return f"in_features={inputs}, out_features={outputs}, bias={self.bias is not None}"

    def forward(self, X: np.ndarray) -> np.ndarray:
        rows = X.reshape(-1, X.shape[-1])
        self.remember(rows)
        Y = product(rows, self.weight.value.T)
        if self.bias is not None:
            add_bias(Y, self.bias.value)
        return Y.reshape(*X.shape[:-1], -1)

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        (rows,) = self.recall()
        G = gradient.reshape(rows.shape[0], -1)
        self.weight.accumulate(product(G.T, rows))
        if self.bias is not None:
            self.bias.accumulate(column_sums(G))
        return product(G, self.weight.value).reshape(*gradient.shape[:-1], -1)


class Embedding(Layer):
    """Token ids to rows of the weight [V, D]; the row of ``padding_id`` starts at zero and gets no gradient."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_id: int | None = None):
        weight = _initial.standard_normal((num_embeddings, embedding_dim), np.float32)
        if padding_id is not None:
            weight[padding_id] = 0.0
        self.weight = Parameter(weight, frozen_row=padding_id)

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.weight.value.shape))

    def forward(self, ids: np.ndarray) -> np.ndarray:
        self.remember(ids)
        return self.weight.value.take(ids, axis=0)

    def backward(self, gradient: np.ndarray) -> None:
        (ids,) = self.recall()
        ids = ids.reshape(-1)
        # Sums over equal ids: np.add.at takes ten times as long.
        order = ids.argsort(kind="stable")
        ids = ids[order]
        starts = np.concatenate(([0], np.flatnonzero(ids[1:] != ids[:-1]) + 1))
        sums = np.add.reduceat(gradient.reshape(len(ids), -1)[order], starts, axis=0)
        self.weight.accumulate(sums, ids[starts])


def flatten(parameters: Sequence[Parameter]) -> Parameter:
    """Make one long parameter of which ``parameters`` become views, gradients too, so that an update is one operation.

    Where operations on the parts round, those on the whole do not.
    """
    buffer = _buffer(parameters[0].value)
    size = sum(parameter.value.size for parameter in parameters)
    shared = buffer is not None and buffer.size == size and all(_buffer(p.value) is buffer for p in parameters)
    if shared:  # another trainer made these views of the same parameters before: keep its buffers
        whole = Parameter(buffer)
        whole.gradient = _buffer(parameters[0].gradient)
        return whole
    whole = Parameter(np.concatenate([in_float32(parameter.value).reshape(-1) for parameter in parameters]))
    whole.gradient = np.zeros_like(whole.value)
    offset = 0
    for parameter in parameters:
        end, shape = offset + parameter.value.size, parameter.value.shape
        kind = type(parameter.value)
        parameter.value = whole.value[offset:end].reshape(shape).view(kind)
        parameter.gradient = whole.gradient[offset:end].reshape(shape).view(kind)
        offset = end
    return whole


def _buffer(array: Any) -> Any:
    """Return what an array is a view of; between the two there is one more where operations round."""
    base = array.base
    while base is not None and base.base is not None:
        base = base.base
    return base


def row_sums(rows: np.ndarray) -> np.ndarray:
    """[..., N] -> [..., 1]. A product with ones takes a fifth of the time of a sum over a short axis, where there are many."""
    if rows.size <= SMALL:
        return np.add.reduce(rows, axis=-1, keepdims=True)
    return (rows.reshape(-1, rows.shape[-1]) @ _ones(rows.shape[-1], rows.dtype)).reshape(*rows.shape[:-1], 1)


def column_sums(rows: np.ndarray) -> np.ndarray:
    """[N, M] -> [M]."""
    return _ones(len(rows), rows.dtype) @ rows


@lru_cache(maxsize=64)
def _ones(size: int, dtype: np.dtype) -> np.ndarray:
    return np.ones(size, dtype)


def softmax_shift(scores: np.ndarray) -> np.ndarray | None:
    """Return what to subtract from each row before exp: its maximum, or None where all scores are near zero.

    Softmax is the same for every shift, and the row maximum takes longer than all the rest of a softmax over a short axis.
    """
    safe = getattr(scores, "safe_exponent", SAFE_EXPONENT)
    if scores.min() >= -safe and scores.max() <= safe:
        return None
    return scores.max(axis=-1, keepdims=True)


def softmax_backward(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The gradient of the scores; zero wherever the weight is, so that masks need no more attention here."""
    result = weights * gradient
    result -= weights * row_sums(result)
    return result
