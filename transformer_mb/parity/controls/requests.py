"""Negative controls: known mistakes, planted into what a backend is asked, which the verdict must catch.

The oracle's side stays as it is. A mistake in weights or settings stands for one in code that is the same function: an
attention without its scale is one whose W_q is sqrt(d) times as large, and an Adam with epsilon-hat (Keras, MXNet) at step
t is ours with epsilon / sqrt(1 - beta2^t).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..cells import FAILED, Ask, Cell, Experiment, Result
from ..computing.messages import Request
from ..computing.reference import Oracle
from ..rows.hand_over import FIRST, REST
from ..rows.model_cases import SMALL
from ..rows.token_models import MISTAKES as SEARCH_MISTAKES
from ..rows.training import FreeRunning, step_request
from ..rows.training_job import CONTINUED, HANDED_OVER_AT, Recording
from ..verdict.answers import judged
from ..verdict.comparison import LIMITS, Comparison

Alter = Callable[[Request], Request]
HEAD = SMALL["num_hiddens"] // SMALL["encoder_num_heads"]
DECODER = "weights.decoder.blks.block1"


@dataclass(frozen=True)
class Control:
    """A mistake and the row that has to notice it: ``experiment`` is run with every request altered."""

    mistake: str
    row: str
    experiment: Experiment
    alter: Alter

    def run(self, backend: str, ask: Ask) -> tuple[Cell, bool, str]:
        """The cell, whether it was caught, and what the verdict said."""
        results = judged(self.experiment, backend, lambda request: ask(self.alter(request)))
        result: Result = next(result for result in results if result.row == self.row)
        return result.cell, result.status == FAILED, result.reason


def _arrays(name: str, change: Callable[[np.ndarray], np.ndarray], request: Request) -> Request:
    value = change(request.arrays[name])
    return replace(request, arrays={**request.arrays, name: value.astype(request.arrays[name].dtype)})


def _spec(change: Callable[[dict[str, Any]], dict[str, Any]], request: Request) -> Request:
    return replace(request, spec=change(dict(request.spec)))


def perturbed(name: str) -> Alter:
    """One number of a weight, off by a hundredth of the largest."""

    def change(value: np.ndarray) -> np.ndarray:
        value = value.copy()
        value.flat[value.size // 2] += 1e-2 * np.abs(value).max()
        return value

    return partial(_arrays, name, change)


def transposed(name: str) -> Alter:
    return partial(_arrays, name, np.transpose)


def times(name: str, factor: float) -> Alter:
    return partial(_arrays, name, lambda value: value * factor)


def shifted(name: str) -> Alter:
    """Lengths off by one; where that would be one too many, one too few."""
    return partial(_arrays, name, lambda value: np.where(value < value.max(), value + 1, value - 1))


def flipped(name: str) -> Alter:
    def change(value: np.ndarray) -> np.ndarray:
        value = value.copy()
        value.flat[0] = ~value.flat[0]
        return value

    return partial(_arrays, name, change)


def rolled(name: str) -> Alter:
    return partial(_arrays, name, lambda value: np.roll(value, 1, axis=0))


def zeroed(prefix: str) -> Alter:
    def alter(request: Request) -> Request:
        changed = {name: value * 0 if name.startswith(prefix) else value for name, value in request.arrays.items()}
        return replace(request, arrays=changed)

    return alter


def setting(*path: str, value: Any) -> Alter:
    """Another value in the spec, such as ``options``, ``eps``."""

    def change(spec: dict[str, Any]) -> dict[str, Any]:
        *folders, last = path
        inner = spec
        for folder in folders:
            inner[folder] = dict(inner[folder])
            inner = inner[folder]
        inner[last] = value
        return spec

    return partial(_spec, change)


def epsilon_hat(request: Request) -> Request:
    options = request.spec["options"]
    beta2 = options.get("betas", (0.9, 0.999))[1]
    eps = options.get("eps", 1e-8) / math.sqrt(1.0 - beta2 ** (request.spec["step_count"] + 1))
    return setting("options", "eps", value=eps)(request)


def position(request: Request) -> Request:
    return replace(request, spec={**request.spec, "inputs": [request.spec["inputs"][0], 2]})


@dataclass(frozen=True)
class Mistake:
    """``case`` and ``row`` name the cell that a mistake is planted into."""

    name: str
    row: str
    case: str
    alter: Alter


LAYER, GRADIENTS, MODEL = "layer forward", "layer gradients", "model forward"
MISTAKES = (
    Mistake("a perturbed weight", LAYER, "encoder block, silu, biases", perturbed("weights.ffn.dense1.weight")),
    Mistake("a moved epsilon", LAYER, "layer norm", setting("options", "eps", value=1e-3)),
    Mistake("a mask shifted by one", LAYER, "cross-attention, lens", shifted("inputs.3")),
    Mistake("a transposed square matrix", LAYER, "self-attention", transposed("weights.W_v.weight")),
    Mistake("a dropped scale", LAYER, "self-attention, causal", times("weights.W_q.weight", math.sqrt(HEAD))),
    Mistake("a wrong position", LAYER, "positions from 3, halves", position),
    Mistake("no causal mask", LAYER, "self-attention, causal", setting("call", "causal", value=False)),
    Mistake("the other GELU", LAYER, "ffn gelu", setting("options", "activation", value="gelu_tanh")),
    Mistake("a perturbed weight", GRADIENTS, "encoder block, silu, biases", perturbed("weights.ffn.dense2.weight")),
    Mistake("a mask shifted by one", GRADIENTS, "cross-attention, lens", shifted("inputs.3")),
    Mistake("a transposed square matrix", GRADIENTS, "self-attention", transposed("weights.W_o.weight")),
    Mistake("a dropped scale", GRADIENTS, "self-attention, causal", times("weights.W_q.weight", math.sqrt(HEAD))),
    Mistake("a perturbed weight", MODEL, "d2l", perturbed(f"{DECODER}.ffn.dense1.weight")),
    Mistake("a moved epsilon", MODEL, "d2l", setting("config", "norm_eps", value=1e-3)),
    Mistake("a mask shifted by one", MODEL, "d2l", shifted("batch.source_valid_lens")),
    Mistake("a transposed square matrix", MODEL, "d2l", transposed(f"{DECODER}.attention2.W_k.weight")),
    Mistake("a dropped scale", MODEL, "d2l", times(f"{DECODER}.attention2.W_q.weight", math.sqrt(HEAD))),
    Mistake("a wrong position", MODEL, "d2l", setting("config", "position_offset", value=1)),
    Mistake("no embedding scale", MODEL, "d2l", setting("config", "embedding_scale", value=False)),
    Mistake("a mask shifted by one", "model loss", "d2l", shifted("batch.target_valid_lens")),
    Mistake(
        "no label smoothing",
        "model loss",
        "d2l, no dropout, smoothed loss per token",
        setting("loss", "label_smoothing", value=0.0),
    ),
    Mistake("one dropped element more", "model gradients", "d2l", flipped("masks.encoder.dropout")),
    Mistake("a transposed square matrix", "model gradients", "d2l", transposed(f"{DECODER}.attention1.W_o.weight")),
    Mistake("epsilon-hat", "optimizer step", "adam, tiny gradients, tenth step", epsilon_hat),
    Mistake("a moved epsilon", "optimizer step", "adam, tiny gradients", setting("options", "eps", value=1e-7)),
    Mistake("a bias correction one step late", "optimizer step", "adam, tenth step", setting("step_count", value=8)),
    Mistake("no clipping", "optimizer step", "adam, clipped", setting("options", "clip_norm", value=None)),
    Mistake("another momentum", "optimizer step", "sgd, momentum", setting("options", "momentum", value=0.8)),
    Mistake("a transposed square matrix", "greedy tokens", "d2l", transposed(f"{DECODER}.attention1.W_v.weight")),
    Mistake("a wrong position", "greedy tokens", "pre-norm, final norm", setting("config", "position_offset", value=1)),
    Mistake("a transposed square matrix", "beam tokens", "d2l", transposed(f"{DECODER}.attention1.W_v.weight")),
    Mistake("a mask shifted by one", "beam tokens", "pre-norm, final norm", shifted("source_valid_lens")),
    *(Mistake(name, "beam tokens", "d2l", setting(*path, value=value)) for name, (*path, value) in SEARCH_MISTAKES.items()),
    Mistake("a mask shifted by one", "stepwise loss", "step 10", shifted("batch.target_valid_lens")),
    Mistake(
        "a perturbed weight", "stepwise gradients", "step 20", perturbed("weights.encoder.blks.block0.attention.W_q.weight")
    ),
    Mistake("epsilon-hat", "stepwise update", "step 30", epsilon_hat),
    Mistake("a perturbed weight", FreeRunning.row, "120 steps", perturbed("weights.encoder.blks.block0.attention.W_q.weight")),
)


def make_controls(
    experiments: Sequence[Experiment], recording: Recording, oracle: Oracle, dtypes: Sequence[str]
) -> list[Control]:
    """Every mistake in float32, where it is harder to notice; in float64 the first of each row."""
    by_cell = {cell: experiment for experiment in experiments for cell in experiment.cells("")}
    found = []
    for dtype in dtypes:
        for mistake in MISTAKES if dtype == "float32" else _first_of_each_row():
            experiment = by_cell[Cell(mistake.row, mistake.case, dtype)]
            found.append(Control(mistake.name, mistake.row, experiment, mistake.alter))
        found += _hand_over_controls(recording, oracle, dtype)
    return found


def _first_of_each_row() -> list[Mistake]:
    return list({mistake.row: mistake for mistake in reversed(MISTAKES)}.values())


def _hand_over_controls(recording: Recording, oracle: Oracle, dtype: str) -> list[Control]:
    def request() -> Request:
        return step_request(recording, oracle, dtype, HANDED_OVER_AT, recording.state(HANDED_OVER_AT))

    first = Comparison("from the oracle", dtype, tuple(LIMITS), request, oracle)
    going_on = FreeRunning(recording, oracle, dtype, HANDED_OVER_AT, CONTINUED)
    return [
        Control(f"moments lost ({FIRST})", "stepwise update", first, zeroed("slots.")),
        Control(f"data out of order ({REST})", FreeRunning.row, going_on, rolled("batches.target_in")),
    ]
