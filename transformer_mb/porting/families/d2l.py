"""The D2L book's Transformer as its users save it in four frameworks and in flax, and this project's own models.

Sizes and switches are read from names and shapes; what no weight file holds comes from the settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...errors import PortError
from ...parameters import parameter_shapes
from ..model import Arrays, NativeFile, PortedModel, renamed_moments
from .inferred_fields import inferred_fields
from .named_tensors import check_fractions, model_of
from .naming_schemes import NAMING_SCHEMES, NamingScheme, canonical_name, is_matrix, native_name

# LayerNorm's default where the file comes from; what else nothing says is the book's, as TransformerConfig has it.
EPSILON = {"keras": 1e-3, "tensorflow": 1e-3, "flax": 1e-6}
UNTOLD = ("npz", "safetensors")  # containers that are of no framework, and so of no layout


def recognize(native: NativeFile) -> bool:
    names = [canonical_name(name, native.format).name for name in native.tensors]
    return any(re.match(r"(encoder|decoder)\.blks\.block\d+\.attention1?\.W_q\.weight$", name) for name in names)


def read(native: NativeFile, settings: Mapping[str, Any]) -> PortedModel:
    """Raises PortError that lists every missing, unexpected and wrongly shaped tensor."""
    check_fractions(native.tensors)
    layout = settings.get("linear_layout")
    if layout not in (None, "out_in", "in_out"):
        raise PortError(f"linear_layout must be out_in or in_out, got {layout!r}.")
    known = {**native.settings, **settings}
    canonical = partial(_canonical, format_name=native.format, layout=layout)
    weights = canonical(native.tensors)
    _check_layout(weights)
    unseen = _unseen_layout(native, weights, settings)
    weights, shared = _untied(weights, known)
    assumed = {"norm_eps": EPSILON[native.format]} if native.format in EPSILON else {}
    fields = inferred_fields(weights, known)
    return model_of(native, weights, fields, settings, assumed, canonical, (*unseen, *shared))


def _unseen_layout(native: NativeFile, weights: Arrays, settings: Mapping[str, Any]) -> tuple[str, ...]:
    square = all(array.shape[0] == array.shape[-1] for name, array in weights.items() if is_matrix(name) and array.ndim == 2)
    if not square or native.format not in UNTOLD or native.settings or "linear_layout" in settings:
        return ()
    return (
        "Every Linear weight of the file is square and its container tells no layout: linear_layout = out_in was assumed, and "
        "no shape shows whether it is so.",
    )


def _canonical(arrays: Arrays, format_name: str, layout: str | None) -> dict[str, np.ndarray]:
    """Arrays by canonical name in canonical layout; ``layout`` overrules what the container tells."""
    weights: dict[str, np.ndarray] = {}
    for native, array in arrays.items():
        name, transposed = canonical_name(native, format_name)
        if layout is not None and is_matrix(name):
            transposed = layout == "in_out"
        if name in weights:
            raise PortError(f"Two tensors of the file mean {name}; one of them is {native!r:.80}.")
        weights[name] = np.ascontiguousarray(array.T) if transposed and array.ndim == 2 else array
    return weights


def _check_layout(weights: Arrays) -> None:
    """A Linear whose bias is as long as its other side lies the wrong way round; square ones do not show it."""
    for name, array in weights.items():
        bias = weights.get(f"{name.removesuffix('.weight')}.bias") if is_matrix(name) else None
        if bias is not None and array.ndim == 2 and bias.shape != (array.shape[0],) and bias.shape == (array.shape[1],):
            raise PortError(
                f"{name} must lie [out, in], got {list(array.shape)} with a bias of {bias.shape[0]}: the Linear weights "
                'of this file lie the other way round. Say "linear_layout": "in_out" (or "out_in") in --config.'
            )


def _untied(weights: dict[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Without the second name of a tensor that two layers share; equal to the last bit is taken for shared."""
    notes = []
    table = "encoder.embedding.weight" if "encoder.embedding.weight" in weights else "decoder.embedding.weight"
    for field, second in (("share_embeddings", "decoder.embedding.weight"), ("tie_output", "decoder.dense.weight")):
        first = (
            table if field == "share_embeddings" or "decoder.embedding.weight" not in weights else "decoder.embedding.weight"
        )
        if first == second or first not in weights or second not in weights or settings.get(field) is False:
            continue
        if np.array_equal(weights[first], weights[second]):
            weights = {name: array for name, array in weights.items() if name != second}
            notes.append(f"{second} equals {first} in every bit: read as one shared tensor ({field}).")
        elif settings.get(field):
            raise PortError(f"{field} is set, but {second} and {first} differ.")
    return weights, notes


def write(model: PortedModel, format_name: str, settings: Mapping[str, Any]) -> NativeFile:
    """The file that the D2L code of this framework loads; ``block_names`` of the settings changes ``blks.{i}``."""
    version = settings.get("keras_version", 3)
    if version not in (2, 3):
        raise PortError(f"keras_version must be 2 or 3, got {version!r}.")
    scheme = NAMING_SCHEMES["keras 2" if format_name == "keras" and version == 2 else format_name]
    block = settings.get("block_names")
    if block is not None and not (isinstance(block, str) and "{i}" in block and not set("{}") & set(block.replace("{i}", ""))):
        raise PortError(f"block_names must be a text with {{i}} and no other braces in it, such as block{{i}}, got {block!r}.")
    native = partial(_native, scheme=scheme, block=block)
    weights = with_shared_names(model.config, model.weights) if scheme.shared_names else model.weights
    optimizer = model.optimizer and renamed_moments(model.optimizer, native)
    return NativeFile(format=format_name, tensors=native(weights), optimizer=optimizer, settings=model.config.to_dict())


def _native(arrays: Arrays, scheme: NamingScheme, block: str | None) -> dict[str, np.ndarray]:
    return {
        native_name(name, scheme, block): np.ascontiguousarray(array.T) if scheme.transposed and is_matrix(name) else array
        for name, array in arrays.items()
    }


def with_shared_names(config: TransformerConfig, weights: Arrays) -> dict[str, np.ndarray]:
    """A shared tensor under each of its names, in the order of ``state_dict``."""
    table = "encoder.embedding.weight" if config.share_embeddings else "decoder.embedding.weight"
    shared = {"decoder.embedding.weight": table, "decoder.dense.weight": table}
    names = parameter_shapes(config.replace(share_embeddings=False, tie_output=False))
    return {name: weights[name if name in weights else shared[name]] for name in names}
