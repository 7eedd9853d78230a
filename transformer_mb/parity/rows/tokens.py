"""The rows of decoding: the same tokens wherever the oracle's choice is clear."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...config import TransformerConfig
from ..cells import FAILED, PASSED, Ask, Cell, Result
from ..computing.messages import Arrays, Request
from ..computing.reference import Oracle
from ..verdict.answers import check_answer
from ..verdict.limits import Yardsticks, judge
from ..verdict.measure import error as relative_error
from .model_cases import CONFIGS
from .token_models import BEAM, LENGTH_PENALTY, ROWS, STEPS, drawn

CASES = ("d2l", "pre-norm, final norm", "shared and tied, padding")
BEAMS = {"greedy tokens": None, "beam tokens": BEAM}
CLEAR = 10.0  # a choice is clear when its margin exceeds so many times the measured error of the logits


class Decoding:
    """Sources and a model drawn for it, decoded; see DESIGN: near-ties are counted and listed, not failed."""

    after = False

    def __init__(self, row: str, case: str, dtype: str, seed: int, oracle: Oracle):
        self.row, self.case, self.dtype, self.seed, self.oracle = row, case, dtype, seed, oracle
        self.config = CONFIGS[case]

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(self.row, self.case, self.dtype)]

    @cached_property
    def request(self) -> Request:
        found = drawn(self.config, BEAMS[self.row], self.seed, self.oracle)
        return Request("decode", self.dtype, found.spec, {**found.arrays, "target": _fed(self.config, found.tokens)})

    @cached_property
    def exact(self) -> Arrays:
        return self.oracle.exact(self.request)

    @cached_property
    def yardsticks(self) -> Yardsticks:
        if self.dtype == "float64":
            return Yardsticks()
        measured = self.oracle.measured(self.request)["logits"]
        return Yardsticks(numpy=relative_error(measured, self.exact["logits"]))

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got, exact = ask(self.request), self.exact
        check_answer(got, exact, self.dtype)
        # Logits that are wrong would excuse any token: they are held to the verdict of a model's output first.
        verdict = judge("model forward", self.dtype, relative_error(got["logits"], exact["logits"]), self.yardsticks)
        off = float(np.abs(got["logits"].astype(np.float64) - exact["logits"]).max())
        other = [row for row in range(ROWS) if not np.array_equal(got["tokens"][row], exact["tokens"][row])]
        margins = {row: self._margin(row, got["tokens"][row]) for row in other}
        # On both sides: what scores better than the oracle's own answer was found by another search.
        clear = {row: margin for row, margin in margins.items() if not abs(margin) <= CLEAR * off}
        text = f"{ROWS - len(other)} of {ROWS} rows identical; logits {verdict.reason}"
        for row, margin in margins.items():
            kind = "differs though clear" if row in clear else "near-tie"
            text += f"; row {row}: {kind}, margin {margin:.1e}"
        status = PASSED if verdict.passed and not clear else FAILED
        return [Result(*self.cells(backend)[0], backend, status, text, verdict.error, verdict.limit)]

    def _margin(self, row: int, tokens: np.ndarray) -> float:
        """By how much the oracle prefers its own answer: at the first other token, or over the whole hypothesis."""
        own = self.exact["tokens"][row]
        if self.row == "beam tokens":
            return self._score(row, own) - self._score(row, tokens)
        step = int(np.flatnonzero(own != tokens)[0])
        logits = self.exact["logits"][row, step].copy()
        logits[list(self.config.suppress_ids)] = -np.inf
        ours, theirs = (logits[ids[step] if ids[step] >= 0 else self.config.eos_id] for ids in (own, tokens))
        return float(ours - theirs)

    def _score(self, row: int, tokens: np.ndarray) -> float:
        """log p of a hypothesis over its length penalty (Wu et al. 2016, equation 14), by the oracle."""
        ids = [int(token) for token in tokens if token >= 0]
        ids += [self.config.eos_id] if len(ids) < STEPS else []
        spec = {"config": self.config.to_dict(), "wanted": ["logits"], "loss": {}}
        batch = {
            "batch.source": self.request.arrays["source"][row : row + 1],
            "batch.source_valid_lens": self.request.arrays["source_valid_lens"][row : row + 1],
            "batch.target_in": np.array([[self.config.start_id, *ids[:-1]]]),
        }
        weights = {name: value for name, value in self.request.arrays.items() if name.startswith("weights.")}
        logits = self.oracle.exact(Request("model", self.dtype, spec, weights | batch))["logits"][0]
        logits[:, list(self.config.suppress_ids)] = -np.inf
        logits = logits - logits.max(axis=-1, keepdims=True)
        log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        total = sum(float(log_probs[i, token]) for i, token in enumerate(ids))
        return total / ((5.0 + len(ids)) / 6.0) ** LENGTH_PENALTY


def _fed(config: TransformerConfig, tokens: np.ndarray) -> np.ndarray:
    """What the decoder was fed to give these tokens: the start, then all but the last, eos after the end."""
    ended = np.where(tokens < 0, config.eos_id, tokens)
    return np.concatenate([np.full((len(tokens), 1), config.start_id), ended[:, :-1]], axis=1)


def token_experiments(oracle: Oracle, dtype: str, seed: int) -> list[Decoding]:
    if dtype not in ("float64", "float32"):
        return []
    return [Decoding(row, case, dtype, seed, oracle) for row in BEAMS for case in CASES]
