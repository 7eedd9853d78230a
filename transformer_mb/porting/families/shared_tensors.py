"""Tensors that layers share: listed under the names that a framework's own model gives them, and read back under one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...errors import PortError
from ...parameters import parameter_shapes
from ..model import Arrays
from .naming_schemes import NAMING_SCHEMES, NamingScheme

SOURCE, TARGET, OUTPUT = "encoder.embedding.weight", "decoder.embedding.weight", "decoder.dense.weight"
BIAS = "decoder.dense.bias"
INNER = "decoder.dense.embedding.weight"  # of an output that holds the embedding itself


def table_of(config: TransformerConfig) -> str:
    """The canonical name of the tensor that is shared, where one is."""
    return SOURCE if config.share_embeddings else TARGET


def under_each_name(config: TransformerConfig, weights: Arrays) -> dict[str, np.ndarray]:
    """A shared tensor under each of its names, in the order of ``state_dict``."""
    names = parameter_shapes(config.replace(share_embeddings=False, tie_output=False))
    shared = {name: table_of(config) for name in (TARGET, OUTPUT)}
    return {name: weights[name if name in weights else shared[name]] for name in names}


def first_names(config: TransformerConfig, scheme: NamingScheme) -> dict[str, str]:
    """By canonical name: what stands for it in a framework that walks attributes by the alphabet, decoder before encoder."""
    if scheme.shared != "first" or not (config.share_embeddings or config.tie_output):
        return {}
    if not config.tie_output:
        return {SOURCE: TARGET}
    # Numbered variables begin at 0, which is the bias where the output has no weight of its own.
    numbered = {BIAS: OUTPUT} if ("linear", "bias") in dict(scheme.leaves) else {}
    return {table_of(config): INNER, **numbered}


def under_own_names(weights: dict[str, np.ndarray], format_name: str) -> dict[str, np.ndarray]:
    """``first_names`` undone: a shared table has the name of the first layer that uses it."""
    scheme = NAMING_SCHEMES.get(format_name)
    first = INNER if INNER in weights else TARGET
    if scheme is None or scheme.shared != "first" or first not in weights:
        return weights
    encoder = any(name.startswith("encoder.") for name in weights)
    own = {first: SOURCE if encoder and SOURCE not in weights else TARGET}
    if first == INNER and OUTPUT in weights and weights[OUTPUT].ndim == 1:
        own[OUTPUT] = BIAS
    return {own.get(name, name): array for name, array in weights.items()}


def untied(weights: dict[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Without the second name of a tensor that two layers share; equal to the last bit is taken for shared."""
    notes = []
    table = SOURCE if SOURCE in weights else TARGET
    for field, second in (("share_embeddings", TARGET), ("tie_output", OUTPUT)):
        first = table if field == "share_embeddings" or TARGET not in weights else TARGET
        if first == second or first not in weights or second not in weights or settings.get(field) is False:
            continue
        if np.array_equal(weights[first], weights[second]):
            weights = {name: array for name, array in weights.items() if name != second}
            notes.append(f"{second} equals {first} in every bit: read as one shared tensor ({field}).")
        elif settings.get(field):
            raise PortError(f"{field} is set, but {second} and {first} differ.")
    return weights, notes
