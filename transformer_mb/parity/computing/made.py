"""The weights of models and layers as they are made, before anything sets them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...backend import Backend
from ...columns.messages import Arrays
from ...config import TransformerConfig
from .making import Spec
from .messages import named


def made(backend: Backend, spec: Spec, arrays: Arrays) -> dict[str, np.ndarray]:
    """Return the weights of each of ``made`` by its number and their canonical names.

    Negative controls: ``spoiled`` multiplies the arrays whose names end so, and adds to them; ``copied`` names two arrays,
    the second of which has the numbers of the first.
    """
    answer: dict[str, np.ndarray] = {}
    for number, each in enumerate(spec["made"]):
        answer |= named(str(number), backend.get_weights(_native(backend, each)))
    for ending, (factor, shift) in spec.get("spoiled", {}).items():
        found = {name: value for name, value in answer.items() if name.endswith(ending)}
        assert found, f"an array must have a name that ends with {ending}"
        answer |= {name: (value * factor + shift).astype(value.dtype) for name, value in found.items()}
    if "copied" in spec:
        first, second = spec["copied"]
        answer[second] = answer[first].copy()
    return answer


def _native(backend: Backend, each: Mapping[str, Any]) -> Any:
    """A ``layer`` or a model as its framework makes it; with an ``initialization`` a model as ``build`` makes it.

    ``by_itself`` it is made without the backend, as a program of the framework's own does.
    """
    make = _alone if each.get("by_itself") else backend.make
    if "layer" in each:
        return make(getattr(type(backend), each["layer"]), *each["arguments"], **each["options"])
    config = TransformerConfig.from_dict(each["config"])
    if "initialization" in each:
        return backend.build(config, each["seed"], each["initialization"])
    return make(type(backend).EncoderDecoder.from_config, config)


def _alone(constructor: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    native = constructor(*arguments, **options)
    if hasattr(native, "initialize"):  # Gluon's blocks get their numbers by a call of their own
        native.initialize()
    return native
