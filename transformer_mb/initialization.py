"""Neutral initial weights: configuration, seed and scheme give the same NumPy arrays whatever the framework.

``xavier``: Linear weights are Xavier uniform (Glorot & Bengio 2010, equation 16), biases zero. Embeddings are normal
with standard deviation 1/sqrt(D), so that they have unit variance once scaled by sqrt(D) (Vaswani et al. 2017, section
3.4), and a table that is also the output projection gives logits near 1.

``torch_default``: the start of PyTorch's layers by default: Linear weights and biases uniform within
1/sqrt(inputs), embeddings standard normal. Documents that initialise nothing train from here.

Either way normalisations start as the identity.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np

from .config import TransformerConfig
from .errors import ConfigError
from .parameters import parameter_shapes
from .random_streams import stream

Shape = tuple[int, ...]


def initial_weights(config: TransformerConfig, seed: int = 0, scheme: str = "xavier") -> dict[str, np.ndarray]:
    """Initial float64 weights by canonical name; raises ConfigError for an unknown scheme, or where memory is lacking."""
    check_scheme(scheme)
    shapes = parameter_shapes(config)
    try:
        check_addressable(shapes)
        return {name: _value(name, shapes, config, seed, scheme) for name in shapes}
    except MemoryError:
        numbers = sum(map(math.prod, shapes.values()))
        raise ConfigError(
            f"The model must fit into memory, but its {numbers:,} parameters take {numbers * 8 / 2**30:,.1f} GiB as the "
            "float64 numbers that it starts from, and the system gives less."
        ) from None


def check_addressable(shapes: dict[str, Shape]) -> None:
    """Sizes that NumPy refuses in words of its own are too large for any memory; raises MemoryError."""
    if any(math.prod(shape) * 8 > sys.maxsize for shape in shapes.values()):
        raise MemoryError


def check_scheme(scheme: str) -> None:
    if scheme not in SCHEMES:
        raise ConfigError(f"initialization must be one of {', '.join(SCHEMES)}, got {scheme!r}.")


def _value(name: str, shapes: dict[str, Shape], config: TransformerConfig, seed: int, scheme: str) -> np.ndarray:
    shape = shapes[name]
    if "embedding.weight" in name:
        return _embedding(name, shape, config, seed, EMBEDDING_DEVIATIONS[scheme](config.num_hiddens))
    if len(shape) == 1 and not _is_linear_bias(name, shapes):
        return np.zeros(shape) if name.endswith(".bias") else np.ones(shape)
    limit = SCHEMES[scheme](name, shapes, config.num_hiddens)
    return stream(seed, "initial", name).uniform(-limit, limit, shape) if limit else np.zeros(shape)


def _is_linear_bias(name: str, shapes: dict[str, Shape]) -> bool:
    """A tied output projection has a bias and no weight of its own."""
    return name == "decoder.dense.bias" or (
        name.endswith(".bias") and len(shapes.get(name.removesuffix("bias") + "weight", ())) == 2
    )


def _xavier(name: str, shapes: dict[str, Shape], num_hiddens: int) -> float:
    return 0.0 if name.endswith(".bias") else math.sqrt(6.0 / sum(shapes[name]))


def _torch_default(name: str, shapes: dict[str, Shape], num_hiddens: int) -> float:
    weight = shapes.get(name.removesuffix("bias").removesuffix("weight") + "weight", (0, num_hiddens))
    return 1.0 / math.sqrt(weight[1])


# The half-width of the uniform distribution of a Linear parameter; 0 for zeros.
SCHEMES: dict[str, Callable[[str, dict[str, Shape], int], float]] = {"xavier": _xavier, "torch_default": _torch_default}
EMBEDDING_DEVIATIONS: dict[str, Callable[[int], float]] = {
    "xavier": lambda num_hiddens: 1.0 / math.sqrt(num_hiddens),
    "torch_default": lambda num_hiddens: 1.0,
}


def _embedding(name: str, shape: Shape, config: TransformerConfig, seed: int, deviation: float) -> np.ndarray:
    table = stream(seed, "initial", name).normal(0.0, deviation, shape)
    if name.endswith(".embedding.weight") and config.padding_vector_zero:
        table[config.pad_id] = 0.0
    return table
