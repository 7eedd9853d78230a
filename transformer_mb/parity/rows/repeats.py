"""The row of what a framework computes twice: the same steps from the same state, whose dropout it draws by the same seed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...random_streams import stream
from ..cells import FAILED, PASSED, Ask, Cell, Result, is_offered
from ..computing import reference
from ..computing.messages import Arrays, Request, named, under
from ..computing.precision import rounded_arrays
from ..verdict.answers import check_answer
from .model_cases import ADAM, CONFIGS, ModelCase
from .models import drawn_batch
from .weights import model_weights

ROW, MODEL, STEPS = "repeated steps", "d2l", 3
DETERMINISTIC = "deterministic"  # the setting of a GPU without which a framework promises no such thing


@dataclass(eq=False)
class Repeat:
    """The reference's answer says what has to come; its numbers do not count, for every framework draws its own."""

    dtype: str
    seed: int
    on_gpu: Collection[str] = ()
    after = False

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(ROW, f"{STEPS} steps, {MODEL}", self.dtype)]

    @cached_property
    def request(self) -> Request:
        # A step is compiled; with one block a side as much is drawn anew as with two.
        case = ModelCase(MODEL, CONFIGS[MODEL].replace(encoder_num_layers=1, decoder_num_layers=1))
        weights = rounded_arrays(named("weights", model_weights(case.config, self.seed)), self.dtype)
        batch = drawn_batch(case, stream(self.seed, "parity", ROW))
        spec = {"config": case.config.to_dict(), "options": ADAM, "step_count": 0, "steps": STEPS, "seeds": [0, 0]}
        return Request("repeated", self.dtype, spec, weights | named("batch", batch))

    @cached_property
    def expected(self) -> Arrays:
        return reference.answer(self.request)

    def run(self, backend: str, ask: Ask) -> list[Result]:
        setting = {"setting": DETERMINISTIC} if is_offered(DETERMINISTIC, backend, self.on_gpu) else {}
        got = ask(replace(self.request, spec={**self.request.spec, **setting}))
        check_answer(got, self.expected, self.dtype)
        again = under("again", got)
        apart = {name: float(np.abs(got[name] - value).max()) for name, value in again.items()}
        differing = [name for name, value in again.items() if value.tobytes() != got[name].tobytes()]
        reason = "the same bits"
        if differing:
            worst = sorted(differing, key=lambda name: apart[name])[-1]
            reason = f"{len(differing)} of {len(again)} arrays differ, {worst} by up to {apart[worst]:.1e}"
        error = sorted(apart.values())[-1]
        return [Result(*cell, backend, FAILED if differing else PASSED, reason, error, 0.0) for cell in self.cells(backend)]


def repeated_experiments(dtype: str, seed: int, on_gpu: Collection[str]) -> list[Repeat]:
    return [Repeat(dtype, seed, on_gpu)]
