"""Inputs and outputs of the owner's own model, held against what was read: they bear out what no tensor shows, or refute it.

The names are those of the probe: ``source`` [B, S], ``source_valid_lens`` [B] (without it all of S), ``token_types`` [B, S] and
``target`` [B, T], whole numbers; ``encoder`` [B, S, D], ``pooled`` [B, D] and ``logits`` [B, T, V], float32 or float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...config import CHOICES, TransformerConfig
from ...errors import PortError, TransformerMBError
from ..formats import npz
from ..model import Arrays, PortedModel
from ..safety.port_errors import port_errors, system_errors
from . import agreement
from .agreement import LIMIT, finite_part
from .probe import run_reference

INPUTS, OUTPUTS = ("source", "source_valid_lens", "token_types", "target"), ("encoder", "pooled", "logits")
EPSILONS = (1e-3, 1e-5, 1e-6, 1e-12)  # that frameworks have


@dataclass(frozen=True, kw_only=True)
class Expected:
    """``name`` of the file, or what stands for it; ``batch`` and ``outputs`` as above. ``lengths_assumed``: none are there."""

    name: str
    batch: Arrays
    outputs: Arrays
    lengths_assumed: bool = False


@dataclass(frozen=True, kw_only=True)
class Met:
    """``errors`` by output; ``borne_out``: fields whose other values the outputs refute; ``failures``: why they are not met."""

    name: str
    errors: Mapping[str, float]
    borne_out: tuple[str, ...]
    failures: tuple[str, ...]


def read_expected(given: Any) -> Expected | None:
    """A mapping of arrays, or an .npz file of them. Raises PortError."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        name, arrays = "expect", {str(name): _array(str(name), array) for name, array in given.items()}
    elif isinstance(given, str | Path):
        name = str(given)
        with system_errors(f"{given} cannot be read"):
            arrays = dict(npz.read(Path(given)).tensors)
    else:
        raise PortError(f"expect must be an .npz file or a mapping of arrays by name, got {type(given).__name__}.")
    if unknown := sorted(set(arrays) - {*INPUTS, *OUTPUTS}):
        raise PortError(f"{name} must hold {', '.join((*INPUTS, *OUTPUTS))}, got {', '.join(unknown):.200}.")
    outputs = {key: array for key, array in arrays.items() if key in OUTPUTS}
    if not outputs:
        raise PortError(f"{name} must hold at least one of the outputs {', '.join(OUTPUTS)}, got none.")
    for key, array in arrays.items():
        right = array.dtype.name in ("float32", "float64") if key in OUTPUTS else array.dtype.kind in "iu"
        if not right:
            kinds = "float32 or float64" if key in OUTPUTS else "whole numbers"
            remedy = " Run your model in float32." if array.dtype.name == "float16" else ""
            raise PortError(f"{name}: {key} must be {kinds}, got {array.dtype.name}.{remedy}")
    batch = {key: arrays[key].astype(np.int64) for key in INPUTS if key in arrays}
    assumed = "source" in batch and "source_valid_lens" not in batch
    if assumed:
        rows, steps = batch["source"].shape if batch["source"].ndim == 2 else (0, 0)
        batch["source_valid_lens"] = np.full(rows, steps)
    return Expected(name=name, batch=batch, outputs=outputs, lengths_assumed=assumed)


def _array(name: str, given: Any) -> np.ndarray:
    """Take whatever NumPy takes; frameworks and lists of uneven rows refuse in their own words."""
    try:
        return np.asarray(given)
    except Exception as error:
        raise PortError(
            f"expect: {name} must be an array that NumPy takes, got {type(given).__name__}: {error!s:.200}"
        ) from None


def held_against(expected: Expected, model: PortedModel, on_trust: tuple[str, ...]) -> Met:
    """The reference on these inputs; then each field that is ``on_trust`` with other values, which must not give the same."""
    _check_inputs(expected, model.config)
    with port_errors(TransformerMBError, begin=f"{expected.name}: "):
        errors = _errors(expected, model)
    if not all(error <= LIMIT for error in errors.values()):
        listed = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
        fitting = [_said(changes) for changes in _others(model.config, on_trust) if _worst(expected, model, changes) <= LIMIT]
        hint = f"; they agree with {' or with '.join(fitting[:3])}" if fitting else _likely_cause(expected, model)
        failure = f"{expected.name}: the outputs are not those of what was read: error of {listed}, above {LIMIT:.0e}{hint}"
        return Met(name=expected.name, errors=errors, borne_out=(), failures=(failure,))
    same: set[str] = set()
    tried: set[str] = set()
    for changes in _others(model.config, on_trust):
        if len(changes) == 1:
            tried |= set(changes)
            same |= set(changes) if _worst(expected, model, changes) <= LIMIT else set()
    lengths = [*expected.batch.get("source_valid_lens", ()), expected.batch.get("target", np.zeros((1, 0))).shape[1]]
    several = max(lengths) > 1
    # Whether positions are added, and whether later ones are seen, shows in any sentence of two tokens.
    tried |= {"architecture", "position"} if several else set()
    return Met(
        name=expected.name,
        errors=errors,
        borne_out=tuple(name for name in on_trust if name in tried - same),
        failures=(),
    )


def _check_inputs(expected: Expected, config: TransformerConfig) -> None:
    needed = {"source": config.has_encoder, "target": config.has_decoder and "logits" in expected.outputs}
    if missing := [name for name, wanted in needed.items() if wanted and name not in expected.batch]:
        raise PortError(
            f"{expected.name} must hold the inputs {' and '.join(missing)} for a model of architecture "
            f"{config.architecture}, got {', '.join(expected.batch) or 'none'}."
        )
    has = {"encoder": config.has_encoder, "pooled": config.pooler, "logits": config.has_decoder}
    if unknown := [name for name in expected.outputs if not has[name]]:
        raise PortError(
            f"{expected.name} must hold outputs of a model of architecture {config.architecture}, of which "
            f"{' and '.join(name for name in has if has[name])} can be compared, got {' and '.join(unknown)}."
        )
    for name, array in expected.batch.items():
        if array.ndim != (1 if name == "source_valid_lens" else 2):
            raise PortError(
                f"{expected.name}: {name} must have {1 if name == 'source_valid_lens' else 2} axes, got {array.ndim}."
            )


def _errors(expected: Expected, model: PortedModel) -> dict[str, float]:
    batch = dict(expected.batch)
    if model.config.has_decoder and "target" not in batch:
        batch["target"] = np.full((len(batch["source"]), 1), model.config.start_id)
    got = run_reference(model, batch, decoded=False)
    errors = {}
    for name, wanted in expected.outputs.items():
        if name not in got or got[name].shape != wanted.shape:
            shape = list(got[name].shape) if name in got else "none"
            raise PortError(f"{name} must be of shape {shape} here, got {list(wanted.shape)}.")
        sides, sentences = finite_part(name, batch, model.config.suppress_ids, got[name], wanted)
        if agreement.not_finite(sides[1]):
            raise PortError(f"{name} holds numbers that are not finite.")
        if not sides[1].size:
            raise PortError(f"{name} must hold numbers at tokens, but by source_valid_lens all of it is padding.")
        errors[name] = agreement.error(sides[0], sides[1], sentences)
    return errors


def _likely_cause(expected: Expected, model: PortedModel) -> str:
    """Explain outputs that no other value explains: what they were made from, or with."""
    if expected.lengths_assumed and (expected.batch["source"] == model.config.pad_id).any():
        return "; it holds no source_valid_lens, so that each id of source counts as a token, padding too"
    logits = expected.outputs.get("logits")
    if logits is not None and np.allclose(np.exp(logits).sum(-1), 1, atol=1e-3):
        return "; its logits are logarithms of probabilities: they must be those before log_softmax"
    if logits is not None and np.allclose(logits.sum(-1), 1, atol=1e-3) and (logits >= 0).all():
        return "; its logits are probabilities: they must be those before softmax"
    return "; they must be of the model in evaluation mode (without dropout), in float32"


def _worst(expected: Expected, model: PortedModel, changes: Mapping[str, Any]) -> float:
    """Infinite where the values are impossible together."""
    try:
        config = model.config.replace(**changes)
        errors = _errors(expected, PortedModel(config=config, weights=model.weights))
    except TransformerMBError:
        return float("inf")
    return float(np.max(list(errors.values())))


def _others(config: TransformerConfig, on_trust: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Other values of each field that is on trust, with which the weights are of the same shapes."""
    heads = [count for count in range(1, config.num_hiddens + 1) if config.num_hiddens % count == 0]
    values: dict[str, tuple[Any, ...]] = {
        "encoder_num_heads": tuple(heads),
        "decoder_num_heads": tuple(heads),
        **{name: CHOICES[name] for name in ("norm_position", "activation", "sinusoid_layout", "rotary_layout")},
        "compat_decode": CHOICES["compat_decode"],
        "norm_kind": ("layer_norm", "std_norm") if config.norm_kind != "rms_norm" else (),
        "norm_eps": EPSILONS,
        "embedding_scale": (False, True),
        "position_offset": (0, 1, 2) if config.position == "sinusoidal" else (),
    }
    for name in on_trust:
        for value in values.get(name, ()):
            if value != getattr(config, name):
                yield {name: value}
    if {"encoder_num_heads", "decoder_num_heads"} <= set(on_trust):
        yield from (
            {"encoder_num_heads": count, "decoder_num_heads": count} for count in heads if count != config.encoder_num_heads
        )


def _said(changes: Mapping[str, Any]) -> str:
    return " and ".join(f"{name} = {value}" for name, value in changes.items())
