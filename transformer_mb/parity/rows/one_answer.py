"""Rows of one cell, judged on the answer to one request by a rule of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ...random_streams import stream
from ..cells import FAILED, PASSED, Ask, Cell, Result, is_offered
from ..computing import reference
from ..computing.messages import EPS, Arrays, Request, named, rounded_arrays, under
from ..ladder import LADDER
from ..verdict.answers import check_answer
from ..verdict.limits import TINY, Verdict, error, worst
from .drawn_values import model_weights
from .model_cases import ADAM, CONFIGS, DECODER, ModelCase
from .models import drawn_batch


@dataclass(eq=False)
class OneAnswer(ABC):
    """``expected`` is the reference's answer: what has to come, of which ``result`` may compare some or nothing."""

    dtype: str
    seed: int
    after = False
    row: ClassVar[str]

    @property
    @abstractmethod
    def case(self) -> str: ...

    @property
    @abstractmethod
    def request(self) -> Request: ...

    @abstractmethod
    def result(self, got: Arrays, cell: Cell, backend: str) -> Result: ...

    @cached_property
    def expected(self) -> Arrays:
        return reference.answer(self.request)

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(self.row, self.case, self.dtype)]

    @classmethod
    def made(cls, dtype: str, seed: int, **more: Any) -> list[Self]:
        """Make the row's experiment, where it has the dtype."""
        return [cls(dtype, seed, **more)] if dtype in LADDER[cls.row].dtypes else []

    def asked(self, backend: str) -> Request:
        """The request as this backend is to compute it."""
        return self.request

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got = ask(self.asked(backend))
        check_answer(got, self.expected, self.dtype)
        return [self.result(got, cell, backend) for cell in self.cells(backend)]


FEW, MANY = 2, 64
PARTS = ModelCase(f"{MANY} parts, decoder alone", DECODER.replace(decoder_num_layers=1, activation="gelu", dropout=0.0))
SGD = {"optimizer": "sgd", "learning_rate": 1.0, "momentum": 0.9, "normalization": "tokens"}
# Each addition rounds the sum so far, which is no more than the whole, by half of the last place.
LIMIT = MANY * EPS["float32"] / 2.0


class EqualParts(OneAnswer):
    """A step's sum over many equal parts beside that over few, of one backend by itself.

    A gradient in two bytes is off by several hundredths, so that no reference could tell whether what was added up has lost as
    much. Here it is the same on both sides, and the sum in float32 is all that may differ.
    """

    row, case = "equal parts", PARTS.name

    @cached_property
    def request(self) -> Request:
        arrays = rounded_arrays(named("weights", model_weights(PARTS.config, self.seed)), self.dtype)
        batch = drawn_batch(PARTS, stream(self.seed, "parity", self.row))
        spec = {"config": PARTS.config.to_dict(), "options": SGD, "counts": {"few": FEW, "many": MANY}}
        return Request("parts", self.dtype, spec, arrays | named("batch", batch) | named("last", batch))

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        few, many = under("few", got), under("many", got)
        off = worst(error(many[name], value, TINY) for name, value in few.items())
        return Verdict(off <= LIMIT, off, LIMIT, f"{off:.1e} by norm; limit {LIMIT:.0e}", LIMIT).of(cell, backend)


MODEL, STEPS = "d2l", 3
DETERMINISTIC = "deterministic"  # the setting of a GPU without which a framework promises no such thing


@dataclass(eq=False)
class Repeat(OneAnswer):
    """Equal steps taken twice, from the same state, whose dropout a framework draws by the same seed.

    The reference's answer says what has to come; its numbers do not count, for every framework draws its own.
    """

    on_gpu: Collection[str] = ()
    row, case = "repeated steps", f"{STEPS} steps, {MODEL}"

    @cached_property
    def request(self) -> Request:
        # A step is compiled; with one block a side as much is drawn anew as with two.
        case = ModelCase(MODEL, CONFIGS[MODEL].replace(encoder_num_layers=1, decoder_num_layers=1))
        weights = rounded_arrays(named("weights", model_weights(case.config, self.seed)), self.dtype)
        batch = drawn_batch(case, stream(self.seed, "parity", self.row))
        spec = {"config": case.config.to_dict(), "options": ADAM, "step_count": 0, "steps": STEPS, "seeds": [0, 0]}
        return Request("repeated", self.dtype, spec, weights | named("batch", batch))

    def asked(self, backend: str) -> Request:
        setting = {"setting": DETERMINISTIC} if is_offered(DETERMINISTIC, backend, self.on_gpu) else {}
        return replace(self.request, spec={**self.request.spec, **setting})

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        again = under("again", got)
        apart = {name: float(np.abs(got[name] - value).max()) for name, value in again.items()}
        differing = [name for name, value in again.items() if value.tobytes() != got[name].tobytes()]
        reason = "the same bits"
        if differing:
            furthest = sorted(differing, key=lambda name: apart[name])[-1]
            reason = f"{len(differing)} of {len(again)} arrays differ, {furthest} by up to {apart[furthest]:.1e}"
        return Result(*cell, backend, FAILED if differing else PASSED, reason, sorted(apart.values())[-1], 0.0)
