"""The backward pass of a failed model, sublayer by sublayer: each is fed the reference's inputs and the reference's own
gradient of its output, and must give the reference's gradients of its inputs and parameters.

What the embeddings get is not compared here: they are no layer that could be run by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..columns.messages import Arrays
from ..config import TransformerConfig
from ..trainer import TrainerOptions
from ..trees import leaves
from .cells import FAILED, Ask
from .computing import reference
from .computing.messages import Request, under, without_arrays
from .controls.answers import Replay
from .ladder import LADDER
from .verdict.answers import judged
from .verdict.comparison import Comparison
from .verdict.limits import gradient_errors
from .walk import drawn, output_scale, part_request, walk

ROW = "layer gradients"
BLOCK = re.compile(r"(encoder|decoder)\.blks\.block\d+")


@dataclass(eq=False)
class Sublayer:
    """A step of the reference's forward pass, and once backward has passed it, the gradient of its output."""

    path: str
    request: Request
    inputs: list[Any]
    output: np.ndarray
    judged: bool = True
    cotangent: np.ndarray | None = None

    @property
    def whole(self) -> bool:
        """A block, whose parts are sublayers of their own: gradients flow through them."""
        return BLOCK.fullmatch(self.path) is not None

    def differentiated(self) -> Request:
        assert self.cotangent is not None
        return replace(self.request, arrays={**self.request.arrays, "cotangent": self.cotangent})


@dataclass
class Backward:
    """A forward pass of the reference that remembers what backward needs, and then backward through it."""

    request: Request
    loss: Mapping[str, Any]
    sublayers: list[Sublayer] = field(default_factory=list)

    @classmethod
    def of(cls, asked: Request, forward: Request) -> Backward | None:
        """Make the backward pass of the model request that bisection made of ``asked``; None where that has no loss."""
        if "target_out" not in under("batch", forward.arrays):
            return None
        options = TrainerOptions(**asked.spec["options"]) if "options" in asked.spec else None
        loss = asked.spec.get("loss", {})
        if options is not None:
            loss = {"normalization": options.normalization, "label_smoothing": options.label_smoothing}
        return cls(forward, loss)

    def run(self) -> list[Sublayer]:
        """Examine all sublayers in the order of the backward pass; a block follows what is inside it."""
        config, batch = TransformerConfig.from_dict(dict(self.request.spec["config"])), under("batch", self.request.arrays)
        walk(config, batch, self._forward)
        if config.tie_output:  # the table is the embedding's: the gradient passes through, and is compared nowhere
            self._forward("decoder.dense", None, [self.sublayers[-1].output])
            self.sublayers[-1].judged = False
        self.sublayers.append(self._loss(batch))
        gradients: dict[int, np.ndarray] = {}  # by the array that they are the gradient of; what is read twice adds up
        self.sublayers[-1].cotangent = np.ones(len(batch["target_out"]))
        for sublayer in reversed(self.sublayers):
            if sublayer.request.spec.get("method") == "scores":  # read as an option, not as an input
                continue
            if sublayer.cotangent is None:
                sublayer.cotangent = gradients[id(sublayer.output)]
            if not sublayer.whole and sublayer.request.spec.get("method") != "embed":
                self._spread(sublayer, gradients)
        return _blocks_last([sublayer for sublayer in reversed(self.sublayers) if sublayer.judged])

    def _forward(self, path: str, method: str | None, inputs: list[Any], **call: Any) -> np.ndarray:
        if method == "sublayer_input":
            path, method = f"{path}.ln", None
        request = part_request(self.request, path, method, inputs, call)
        # A block gives the same array that the last sublayer inside it has given.
        output = self.sublayers[-1].output if BLOCK.fullmatch(path) else reference.answer(request)["output"]
        self.sublayers.append(Sublayer(path, request, inputs, output, judged=method is None))
        return output

    def _loss(self, batch: Arrays) -> Sublayer:
        inputs = [self.sublayers[-1].output, batch["target_out"], batch["target_valid_lens"]]
        arrays: dict[str, np.ndarray] = {}
        spec = {
            "layer": "MaskedSoftmaxCELoss",
            "arguments": [],
            "options": dict(self.loss),
            "training": False,
            "inputs": without_arrays(inputs, "inputs", arrays),
            "call": {},
        }
        return Sublayer("loss", Request("layer", self.request.dtype, spec, arrays), inputs, np.empty(0))

    def _spread(self, sublayer: Sublayer, gradients: dict[int, np.ndarray]) -> None:
        by_name = under("gradient", reference.answer(sublayer.differentiated()))
        for number, leaf in enumerate(leaves(sublayer.inputs)):
            if f"input {number}" in by_name:
                scale = output_scale(self.request) if sublayer.path == "decoder.dense" else 1.0
                gradients[id(leaf)] = gradients.get(id(leaf), 0.0) + by_name[f"input {number}"] * scale


def _blocks_last(sublayers: list[Sublayer]) -> list[Sublayer]:
    order: list[Sublayer] = []
    block: Sublayer | None = None
    for sublayer in sublayers:
        if block is not None and not sublayer.path.startswith(f"{block.path}."):
            order.append(block)
            block = None
        if sublayer.whole:
            block = sublayer
        else:
            order.append(sublayer)
    return [*order, block] if block is not None else order


def examine_backward(backward: Backward, ask: Ask) -> tuple[str | None, list[str]]:
    """The first sublayer in backward order whose gradients differ, in a few words, and a line for each."""
    cause, lines = None, []
    for sublayer in backward.run():
        part, asked = sublayer.differentiated(), Replay(ask)
        comparison = Comparison(sublayer.path, part.dtype, (LADDER[ROW].name,), partial(replace, part))
        result = judged(comparison, "", asked)[0]
        failed, name = result.status == FAILED, f"backward of {sublayer.path}"
        if failed:
            name += _worst(asked.answers[-1], comparison.expected)
        first = failed and cause is None
        cause = name if first else cause
        lines.append(drawn(sublayer.path, failed, f"{name}: own {result.reason}", first))
    return cause, lines


def _worst(got: Arrays, expected: Arrays) -> str:
    """Return the gradient that is furthest off; nothing where they cannot be compared."""
    ours, theirs = under("gradient", got), under("gradient", expected)
    if any(name not in ours or ours[name].shape != value.shape for name, value in theirs.items()):
        return ""
    errors = gradient_errors({name: ours[name] for name in theirs}, theirs)
    return f": gradient of {sorted(errors, key=lambda name: np.nan_to_num(errors[name].norm, nan=np.inf))[-1]}"
