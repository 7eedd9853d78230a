"""The row of given numbers: by logits and numbers from 0 to 1 each backend's own rule draws the tokens of the reference's."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...built_in import BUILT_IN
from ...columns.messages import Arrays
from ...random_streams import stream
from ..cells import FAILED, PASSED, Cell, Result
from ..computing.messages import EPS, Request, rounded_arrays
from .drawn_tokens import UNITS, drawn_by, drawn_within
from .one_answer import OneAnswer

ROWS, TOKENS = 256, 40
# The least and the greatest number that float32 has below 1, and 1 itself, to which a number of more digits may be rounded.
ENDS = (0.0, 1.0 - 2.0**-24, 1.0)
SAMPLINGS: tuple[dict[str, Any], ...] = (
    {"temperature": 1.0, "top_k": None, "top_p": 1.0},
    {"temperature": 0.6, "top_k": 4, "top_p": 1.0},
    {"temperature": 2.0, "top_k": None, "top_p": 0.6},
    {"temperature": 1.5, "top_k": 6, "top_p": 0.8},
)


class GivenNumbers(OneAnswer):
    """The rule on both sides: a number near the end of a token's share may draw either of two tokens."""

    row, case = "given numbers", "also 0 and 1"

    def cells(self, backend: str) -> list[Cell]:
        """Another package need not have the rule as a function by itself."""
        return super().cells(backend) if not backend or backend.partition("@")[0] in BUILT_IN else []

    @cached_property
    def request(self) -> Request:
        random = stream(self.seed, "parity", self.row)
        numbers = np.concatenate([np.repeat(ENDS, 4), random.random(ROWS - 4 * len(ENDS))])
        arrays = {"logits": 2.0 * random.standard_normal((ROWS, TOKENS)), "numbers": numbers.astype(np.float32)}
        return Request("draw_given", self.dtype, {"samplings": SAMPLINGS}, rounded_arrays(arrays, self.dtype))

    @cached_property
    def expected(self) -> Arrays:
        logits, numbers = (self.request.arrays[name].astype(np.float64) for name in ("logits", "numbers"))
        pairs = [*zip(numbers.tolist(), logits, strict=True)]
        return {
            f"tokens.{number}": np.array([drawn_by(each, row, options) for each, row in pairs])
            for number, options in enumerate(SAMPLINGS)
        }

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        told, near_ties = [], 0
        # Logits of two bytes are given exactly, and from there on the rule is computed in float32.
        eps = min(EPS[self.dtype], EPS["float32"])
        off = UNITS * eps * float(np.abs(self.request.arrays["logits"]).max())
        for number, options in enumerate(SAMPLINGS):
            pair = got[f"tokens.{number}"], self.expected[f"tokens.{number}"]
            for row in np.flatnonzero(pair[0] != pair[1]).tolist():
                each, logits = float(self.request.arrays["numbers"][row]), self.request.arrays["logits"][row].astype(np.float64)
                token, expected = (int(tokens[row]) for tokens in pair)
                if token in drawn_within(each, each, logits, options, off):
                    near_ties += 1
                else:
                    told.append(f"{each!r} draws {expected}, got {token}, with {options}")
        draws = ROWS * len(SAMPLINGS)
        reason = "; ".join([f"{draws - len(told) - near_ties} of {draws} draws identical", *told[:3]])
        status = FAILED if told else PASSED
        return Result(*cell, backend, status, reason, len(told) / draws, 0.0, near_ties=near_ties)
