"""The row of a step's sum over its parts: many equal ones give what two of them give, in every backend by itself.

A gradient in two bytes is off by several hundredths, so that no reference could tell whether what was added up has lost as
much. Here it is the same on both sides, and the sum in float32 is all that may differ.
"""

from __future__ import annotations

from functools import cached_property

from ...random_streams import stream
from ..cells import Cell, Result
from ..computing.messages import Arrays, Request, named, under
from ..computing.precision import EPS, rounded_arrays
from ..ladder import LADDER
from ..verdict.limits import Judgement
from ..verdict.measure import TINY, error, worst
from .model_cases import DECODER, ModelCase
from .models import drawn_batch
from .one_answer import OneAnswer
from .weights import model_weights

ROW, FEW, MANY = "equal parts", 2, 64
CASE = ModelCase(f"{MANY} parts, decoder alone", DECODER.replace(decoder_num_layers=1, activation="gelu", dropout=0.0))
SGD = {"optimizer": "sgd", "learning_rate": 1.0, "momentum": 0.9, "normalization": "tokens"}
# Each addition rounds the sum so far, which is no more than the whole, by half of the last place.
LIMIT = MANY * EPS["float32"] / 2.0


class EqualParts(OneAnswer):
    """Many parts beside few, of one backend."""

    row, case = ROW, CASE.name

    @cached_property
    def request(self) -> Request:
        arrays = rounded_arrays(named("weights", model_weights(CASE.config, self.seed)), self.dtype)
        batch = drawn_batch(CASE, stream(self.seed, "parity", ROW))
        spec = {"config": CASE.config.to_dict(), "options": SGD, "counts": {"few": FEW, "many": MANY}}
        return Request("parts", self.dtype, spec, arrays | named("batch", batch) | named("last", batch))

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        few, many = under("few", got), under("many", got)
        off = worst(error(many[name], value, TINY) for name, value in few.items())
        return Judgement(off <= LIMIT, off, LIMIT, f"{off:.1e} by norm; limit {LIMIT:.0e}", LIMIT).of(cell, backend)


def equal_parts_experiments(dtype: str, seed: int) -> list[EqualParts]:
    return [EqualParts(dtype, seed)] if dtype in LADDER[ROW].dtypes else []
