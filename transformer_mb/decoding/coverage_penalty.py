"""The coverage penalty of beam search (Wu et al. 2016, equation 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..call_checks import check_between
from ..config import TransformerConfig
from ..errors import ConfigError

if TYPE_CHECKING:
    from .session import BeamSession

LARGEST_COVERAGE_PENALTY = 10.0
# A position that got less has got nothing: scores stay finite, and of weights like e^-64 no two softmaxes say the same.
LEAST = 1e-12


class Coverage:
    """A BeamSession that sums what each row has attended to: ``scores`` are what the penalty adds.

    cp(X; Y) = penalty * sum over i of log(min(sum over j of p_ij, 1)). p_ij is the last decoder block's cross-attention,
    averaged over its heads, at the step that gave target token j (those of a prefix and <eos> counted), on source token i
    (<eos> counted, padding not).
    """

    def __init__(self, session: BeamSession, penalty: float, source: np.ndarray, valid_lens: np.ndarray, beam: int):
        self.session, self.penalty = session, penalty
        self.within = np.repeat(np.arange(source.shape[1]) < valid_lens[:, None], beam, axis=0)
        self.total = np.zeros(self.within.shape)

    def step(self, tokens: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        answer = self.session.step(tokens, count)
        self.total += self.session.attention()
        return answer

    def log_probabilities(self, tokens: np.ndarray) -> np.ndarray:
        return self.session.log_probabilities(tokens)

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        return self.session.logits(tokens)

    def attention(self) -> np.ndarray:
        return self.session.attention()

    def reorder(self, rows: np.ndarray) -> None:
        self.session.reorder(rows)
        self.total = self.total[rows]

    def scores(self) -> np.ndarray:
        """[rows], at most 0."""
        logs = np.log(np.clip(self.total, LEAST, 1.0))
        return np.asarray(self.penalty * np.where(self.within, logs, 0.0).sum(axis=1))


def check_coverage_penalty(penalty: Any, config: TransformerConfig | None = None) -> None:
    """Refuse what no penalty can be, and any for a model without cross-attention. Raises ConfigError."""
    check_between("coverage_penalty", penalty, 0.0, LARGEST_COVERAGE_PENALTY)
    if penalty and config is not None and not config.has_encoder:
        raise ConfigError(f"coverage_penalty must be 0 for a decoder alone, which attends to no source, got {penalty}.")
