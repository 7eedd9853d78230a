"""The row of refused inputs: what would be broadcast, cut or read as something else every backend refuses in our words."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...columns.messages import Arrays
from ...random_streams import stream
from ..cells import FAILED, PASSED, Cell, Result
from ..computing.messages import Request, named, rounded_arrays, without_arrays
from .layer_cases import MHA, STACK, Case
from .layer_inputs import B, D, H, S, V, build_input
from .one_answer import OneAnswer

ATTENTION, QKV = "DotProductAttention", ("Q", "K", "V")
WRONG = (
    Case("heads of an odd width that are turned in pairs", "MultiHeadAttention", (3 * H, 3 * H, 3 * H, 3 * H, H, 0.0), (),
         {"position": "rotary"}),
    Case("a width that no heads divide", "MultiHeadAttention", (D, D, D, D, 3, 0.0), ()),
    Case("a mask that would be repeated", ATTENTION, (0.3,), QKV, training=True, masks={"dropout": (B, 1, S)}),
    Case("lengths of fewer rows", ATTENTION, (0.0,), (*QKV, np.array([2]))),
    Case("lengths beyond the keys", ATTENTION, (0.0,), (*QKV, np.array([5, 2, S + 1]))),
    Case("another width", "MultiHeadAttention", MHA["arguments"], ("narrow source", "source", "source")),
    Case("a norm of another width", "LayerNorm", ([D],), ("narrow source",)),
    Case("a residual of another length", "AddNorm", ([D], 0.0), ("X", "source")),
    Case("an id beyond the vocabulary", "TransformerEncoder", STACK, (np.full((B, S), V), "lens")),
    Case("positions beyond the table", "PositionalEncoding", (D, 0.0, 4), ("source",)),
)  # fmt: skip
FIRST_WRONG = WRONG[0].name


def _asked(case: Case) -> dict[str, Any]:
    return {"layer": case.layer, "arguments": case.arguments, "options": case.options, "training": case.training}


RIGHT = {**_asked(Case("", "LayerNorm", ([D],), ())), "inputs": []}


class RefusedInputs(OneAnswer):
    """The reference's answer is that it refuses each of them."""

    row, case = "refused inputs", "layers and their inputs"

    @cached_property
    def request(self) -> Request:
        random = stream(self.seed, "parity", self.row)
        arrays: dict[str, np.ndarray] = {}
        wrong: dict[str, Any] = {}
        for case in WRONG:
            own: dict[str, np.ndarray] = {}
            inputs = [without_arrays(build_input(each, random), f"inputs.{i}", own) for i, each in enumerate(case.inputs)]
            own = rounded_arrays(own, self.dtype)
            own |= named("masks", {path: random.random(shape) < 0.7 for path, shape in case.masks.items()})
            arrays |= named(case.name, own)
            wrong[case.name] = {**_asked(case), "inputs": inputs}
        return Request("refused", self.dtype, {"wrong": wrong}, arrays)

    @cached_property
    def expected(self) -> Arrays:
        return {case.name: np.array(1.0) for case in WRONG}

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        taken = [name for name, refused in got.items() if not refused]
        reason = f"taken, not refused: {', '.join(taken)}" if taken else f"{len(got)} of {len(got)} refused"
        return Result(*cell, backend, FAILED if taken else PASSED, reason, float(len(taken)), 0.0)
