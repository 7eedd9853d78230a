"""Heads: parts for a task on top of a model's states, such as a classifier, as data.

They are small, so they are computed in NumPy from the states that any backend gives; what is not known is kept and not run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .config import TransformerConfig
from .errors import ConfigError

if TYPE_CHECKING:
    from .backend import Backend

TAKES = ("all", "first", "pooled", "last", "end")
TABLE, OUTPUT, BIAS, POOLER = "encoder.embedding.weight", "decoder.dense.weight", "decoder.dense.bias", "pooler.dense"
Arrays = Mapping[str, np.ndarray]


class Step(NamedTuple):
    """An operation: ``linear``, ``tied`` (linear by the token table where ``weight`` is not there), ``norm`` (layer
    normalization with the model's epsilon), ``activation`` (the model's), ``tanh``, ``relu`` or ``gelu``; and its tensors."""

    operation: str
    weight: str = ""
    bias: str = ""


@dataclass(frozen=True, kw_only=True)
class Head:
    """A part for a task.

    Attributes:
        task: ``masked_lm``, ``sequence_classification`` and others; "" for tensors that nothing here knows, which are kept.
        takes: the states that it is given: ``all`` [B, T, D], or of each row one: the ``first``, the ``pooled`` (BERT's tanh
            layer), the ``last`` that is no padding, or that of the last ``end`` token.
        steps: what it computes; [B, T, n] or [B, n] come out. tensors: by the names in ``steps``.
        made_by: the class that it is from.
    """

    task: str
    takes: str = "all"
    steps: tuple[Step, ...] = ()
    tensors: Arrays = field(default_factory=dict)
    made_by: str = ""

    def __post_init__(self) -> None:
        if self.takes not in TAKES:
            raise ConfigError(f"takes must be one of {', '.join(TAKES)}, got {self.takes!r:.80}.")
        if unknown := [step.operation for step in self.steps if step.operation not in OPERATIONS]:
            raise ConfigError(f"A step must be one of {', '.join(OPERATIONS)}, got {unknown[0]!r:.80}.")

    def apply(self, states: np.ndarray, config: TransformerConfig, table: np.ndarray | None = None) -> np.ndarray:
        """Compute the steps on states [..., D], in their dtype; ``table`` [V, D] is the token table."""
        for step in self.steps:
            weight = self.tensors.get(step.weight, table if step.operation == "tied" else None)
            bias = self.tensors.get(step.bias)
            cast = [None if one is None else np.asarray(one, states.dtype) for one in (weight, bias)]
            states = OPERATIONS[step.operation](states, *cast, config)
        return states


def _linear(X: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, _: TransformerConfig) -> np.ndarray:
    product = X @ weight.T
    return product if bias is None else product + bias


def _norm(X: np.ndarray, weight: np.ndarray, bias: np.ndarray, config: TransformerConfig) -> np.ndarray:
    centered = X - X.mean(axis=-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + config.norm_eps) * weight + bias


def _gelu(X: np.ndarray) -> np.ndarray:
    erf = np.frompyfunc(math.erf, 1, 1)(X / math.sqrt(2.0)).astype(X.dtype)
    return X * (1.0 + erf) / 2.0


def _gelu_tanh(X: np.ndarray) -> np.ndarray:
    return X * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (X + 0.044715 * X**3))) / 2.0


def _silu(X: np.ndarray) -> np.ndarray:
    return X * (1.0 + np.tanh(X / 2.0)) / 2.0


def _relu(X: np.ndarray) -> np.ndarray:
    return np.maximum(X, 0.0)


ACTIVATIONS = {"relu": _relu, "gelu": _gelu, "gelu_tanh": _gelu_tanh, "silu": _silu}
OPERATIONS: dict[str, Any] = {
    "linear": _linear,
    "tied": _linear,
    "norm": _norm,
    "activation": lambda X, weight, bias, config: ACTIVATIONS[config.activation](X),
    "tanh": lambda X, *_: np.tanh(X),
    "relu": lambda X, *_: _relu(X),
    "gelu": lambda X, *_: _gelu(X),
}


def task_outputs(
    backend: Backend,
    model: Any,
    heads: tuple[Head, ...],
    source: Any,
    source_valid_lens: Any = None,
    token_types: Any = None,
) -> dict[str, np.ndarray]:
    """Return what each head of a known task computes, by task, with the model's states from its backend.

    Args:
        model: of ``backend``. source: [B, S] int, the tokens; for an encoder with a decoder each row holds its end token,
            and the decoder reads the same row one step later, as BART's classes do. A decoder alone reads it itself.
        source_valid_lens: [B] int, how many tokens of each row count; None: all.
    Returns: [B, S, n] or [B, n] per task, in the backend's dtype, and 0 at padding.
    """
    known = [head for head in heads if head.task]
    if not known:
        return {}
    config: TransformerConfig = model.config
    source = np.asarray(source)
    lens = np.full(len(source), source.shape[1]) if source_valid_lens is None else np.asarray(source_valid_lens)
    weights = backend.get_weights(model)
    if not config.has_decoder:
        states = backend.encode(model, source, lens, token_types)
    else:
        shifted = np.concatenate([np.full((len(source), 1), config.start_id), source[:, :-1]], axis=1)
        target = shifted if config.has_encoder else source
        states = decoder_states(backend, config, weights, source if config.has_encoder else None, target, lens)
    counts = np.arange(source.shape[1]) < lens[:, None]
    outputs = {}
    for head in known:
        found = head.apply(_taken(head.takes, states, source, lens, config, weights), config, weights.get(TABLE))
        outputs[head.task] = np.where(counts[..., None], found, 0.0).astype(found.dtype) if head.takes == "all" else found
    return outputs


def decoder_states(
    backend: Backend, config: TransformerConfig, weights: Arrays, source: Any, target: np.ndarray, lens: Any
) -> np.ndarray:
    """Return the decoder's states [B, T, D]: its logits with rows of the unit matrix in place of the output projection."""
    rows, width = int(config.target_vocab_size or 1), config.num_hiddens
    bare = config.replace(tie_output=False, output_bias=False)
    own = {name: array for name, array in weights.items() if name != BIAS}
    parts = []
    for start in range(0, width, rows):
        unit = np.eye(rows, width, start, dtype=next(iter(weights.values())).dtype)
        logits = backend.logits(
            backend.from_weights(bare, {**own, OUTPUT: unit}), source, target, None if source is None else lens
        )
        parts.append(logits[..., : width - start])
    return np.concatenate(parts, axis=-1)


def _taken(
    takes: str, states: np.ndarray, source: np.ndarray, lens: np.ndarray, config: TransformerConfig, weights: Arrays
) -> np.ndarray:
    """Return the states that a head is given."""
    if takes == "all":
        return states
    if takes in ("first", "pooled"):
        first = states[:, 0]
        if takes == "first":
            return first
        weight, bias = (np.asarray(weights[f"{POOLER}.{leaf}"], states.dtype) for leaf in ("weight", "bias"))
        return np.tanh(first @ weight.T + bias)
    places = lens - 1
    if takes == "end":
        ends = (source == config.eos_id) & (np.arange(source.shape[1]) < lens[:, None])
        if not ends.any(axis=1).all():
            raise ConfigError(f"Each row must hold its end token {config.eos_id}, but {int((~ends.any(axis=1)).sum())} do not.")
        places = source.shape[1] - 1 - ends[:, ::-1].argmax(axis=1)
    return states[np.arange(len(states)), places]
