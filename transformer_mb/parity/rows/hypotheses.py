"""The row of hypotheses: all of them come, with scores that have float32's digits, whatever the model's format.

Their logits are known: those of a model that says the same of every step, numbers of the format itself.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...random_streams import stream
from ..cells import FAILED, PASSED, Cell, Result
from ..computing.decoding import NEVER, UNSAID
from ..computing.messages import EPS, Request, rounded_arrays
from .model_cases import SMALL
from .one_answer import OneAnswer

ROWS, STEPS = 2, 3
CONFIG = TransformerConfig(**SMALL, suppress_ids=(6,))
LIMIT_EPS = 16.0  # of the dtype that log-probabilities are in, relative to the largest of them


class Hypotheses(OneAnswer):
    """A closed form is the reference: the logarithm of the softmax of the logits."""

    row, case = "hypotheses", "a beam that is told no number"

    @cached_property
    def request(self) -> Request:
        random = stream(self.seed, "parity", self.row)
        bias = 3.0 * random.permutation(np.linspace(-1.0, 1.0, SMALL["target_vocab_size"]))
        bias[list(CONFIG.suppress_ids)] = 8.0  # what is suppressed would be the best
        bias[CONFIG.eos_id] = NEVER
        arrays = rounded_arrays({"bias": bias}, self.dtype)
        arrays["source"] = random.integers(0, CONFIG.source_vocab_size or 0, (ROWS, STEPS))
        return Request("listed", self.dtype, {"config": CONFIG.to_dict(), "said": {}}, arrays)

    @cached_property
    def expected(self) -> Arrays:
        logits = self.request.arrays["bias"].astype(np.float64)
        logits[list(CONFIG.suppress_ids)] = -np.inf
        falling = np.sort(logits)[::-1]
        log_probs = falling - falling[0] - np.log(np.exp(falling - falling[0]).sum())
        best = np.argsort(-logits)[: UNSAID[0]]
        scores = np.stack([log_probs[: len(best)]] * 2, axis=-1)  # one step is penalized by 1
        return {"tokens": np.stack([best] * ROWS), "scores": np.stack([scores] * ROWS)}

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        expected = self.expected
        same = np.array_equal(got["tokens"], expected["tokens"])
        error = float(np.abs(got["scores"] - expected["scores"]).max() / np.abs(expected["scores"]).max())
        limit = LIMIT_EPS * EPS["float64" if self.dtype == "float64" else "float32"]
        reason = f"{'the same' if same else 'other'} hypotheses; their scores off by {error:.1e}, limit {limit:.0e}"
        return Result(*cell, backend, PASSED if same and error <= limit else FAILED, reason, error, limit)
