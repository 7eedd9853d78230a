"""Several models that decode as one: the mean of their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..config import TransformerConfig
from ..errors import ConfigError
from .ranking import best_tokens
from .session import BeamSession

# What models must share, so that a token means the same to all.
SHARED = ("architecture", "source_vocab_size", "target_vocab_size", "pad_id", "bos_id", "eos_id", "start_id")


class Ensemble:
    """A BeamSession of several: p(token) is the mean of theirs. A token that one of them suppresses is never produced."""

    def __init__(self, sessions: Sequence[BeamSession]):
        self.sessions = sessions

    def log_probabilities(self, tokens: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):  # of what is suppressed
            return np.log(self._mean(tokens))

    def _mean(self, tokens: np.ndarray) -> np.ndarray:
        each = [session.log_probabilities(tokens).astype(np.float64) for session in self.sessions]
        mean = np.mean([np.exp(one) for one in each], axis=0)
        mean[np.any([one == -np.inf for one in each], axis=0)] = 0.0
        return np.asarray(mean)

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        """Logarithms of the mean of the models' probabilities, of all tokens."""
        each = [session.logits(tokens).astype(np.float64) for session in self.sessions]
        powers = [np.exp(one - one.max(axis=-1, keepdims=True)) for one in each]
        return np.asarray(np.log(np.mean([one / one.sum(axis=-1, keepdims=True) for one in powers], axis=0)))

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        mean = self._mean(tokens)

        def top(k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            columns = np.argpartition(-mean, k - 1, axis=-1)[:, :k]
            order = np.argsort(-np.take_along_axis(mean, columns, axis=-1), axis=-1)
            ids = np.take_along_axis(columns, order, axis=-1)
            best = np.take_along_axis(mean, ids, axis=-1)
            with np.errstate(divide="ignore"):
                return best, ids, np.log(best)

        def lowest(rows: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
            return np.argsort(mean[rows] != last[:, None], axis=-1, kind="stable")[:, :k]

        return best_tokens(mean.shape[-1], count, top, lowest)

    def reorder(self, rows: np.ndarray) -> None:
        for session in self.sessions:
            session.reorder(rows)

    def attention(self) -> np.ndarray:
        return np.asarray(np.mean([session.attention() for session in self.sessions], axis=0))


def as_models(model: Any) -> tuple[Any, ...]:
    """Return one model, or the models of a list or tuple, as a tuple."""
    models = tuple(model) if isinstance(model, list | tuple) else (model,)
    if not models:
        raise ConfigError("An ensemble must have at least one model, got none.")
    return models


def shared_config(configs: Sequence[TransformerConfig]) -> TransformerConfig:
    """Return the configuration with the fewest positions; raises ConfigError for models that cannot decode as one."""
    for number, config in enumerate(configs[1:], start=2):
        for name in SHARED:
            if getattr(config, name) != getattr(configs[0], name):
                raise ConfigError(
                    f"The models of an ensemble must have the same {name}, got {getattr(configs[0], name)!r} in the first and "
                    f"{getattr(config, name)!r} in model {number}."
                )
    return min(configs, key=lambda config: config.max_len)
