"""The rows of optimizers: single steps from given gradients and moments, and a few steps of training.

A recipe is drawn by the seed, on a drawn model; in float64 one trains beside a frozen table, and one meets a batch of no
token; in every dtype SGD takes steps on accumulated batches. In formats of two bytes only these are compared with the
reference: the change of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...config import CHOICES
from ...random_streams import stream
from ...trainer import SLOTS
from ..cells import Cell
from ..computing.making import FROZEN
from ..computing.messages import Request, named, rounded_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from .drawn_models import drawn_models
from .drawn_values import CoveringArray, Row, model_weights, redrawn
from .model_cases import CONFIGS, OPTIMIZERS, ModelCase, OptimizerCase
from .models import drawn_batch


def optimizer_experiments(dtype: str, seed: int) -> list[Comparison]:
    """Make the optimizer steps; in formats of two bytes each optimizer once, and one with clipping."""
    rows = rows_of("update", dtype)
    cases = [case for case in (*OPTIMIZERS, *drawn_updates(seed)) if dtype in PLAIN_DTYPES or case.every_dtype]
    return [Comparison(case.name, dtype, rows, partial(optimizer_request, case, dtype, seed)) for case in cases]


def optimizer_request(case: OptimizerCase, dtype: str, seed: int) -> Request:
    """Ask for a step from given gradients: Adam would make a step of full size of a gradient's rounding noise."""
    random = stream(seed, "parity", case.name)
    weights = model_weights(case.config, seed)
    arrays = named("weights", weights)
    arrays |= {f"gradients.{name}": case.scale * random.standard_normal(value.shape) for name, value in weights.items()}
    arrays = rounded_arrays(arrays, dtype)
    if case.step_count:  # an optimizer's state is never less than float32
        least = dtype if dtype in PLAIN_DTYPES else "float32"
        arrays |= rounded_arrays(named("slots", _moments(case, weights, random)), least)
    spec: dict[str, Any] = {"config": case.config.to_dict(), "options": case.options, "step_count": case.step_count}
    return Request("update", dtype, {**spec, "updates": 2 if dtype in PLAIN_DTYPES else 1}, arrays)


def _moments(case: OptimizerCase, weights: dict[str, np.ndarray], random: np.random.Generator) -> dict[str, np.ndarray]:
    """Make what earlier gradients of the same size would have left: v is a mean of squares, so it is positive."""
    moments = {}
    for slot in SLOTS[case.options["optimizer"]]:
        for name, value in weights.items():
            noise = case.scale * random.standard_normal(value.shape)
            moments[f"{slot}.{name}"] = np.square(noise) if slot == "v" else noise
    return moments


STEPS = 3
RECIPE: dict[str, tuple[Any, ...]] = {
    "optimizer": ("adam", "adamw", "sgd"),
    "betas": ((0.9, 0.999), (0.8, 0.98), (0.0, 0.98)),
    "momentum": (0.0, 0.9),
    "weight_decay": (0.0, 0.3),
    "clip_norm": (None, 0.5, 1e6),  # below and above the norm of every gradient
}
UPDATES = CoveringArray(
    "optimizer",
    {**RECIPE, "eps": (1e-8, 1e-3), "steps before": (0, 1, 9, 1000), "scale": (1.0, 1e-7, 1e4), "tied": (False, True)},
)
RECIPES = CoveringArray(
    "recipe",
    {**RECIPE, "normalization": CHOICES["normalization"], "label_smoothing": (0.0, 0.1), "accumulate": (1, 3)},
)
UPDATES_SHARE = 3
NOTHING = (1, "one is 0")  # rows and their lengths: a loss of no token is 0, and so is each gradient


def drawn_updates(seed: int) -> list[OptimizerCase]:
    cases = []
    for number, row in enumerate(UPDATES.share(seed, UPDATES_SHARE), 1):
        config = CONFIGS["shared and tied, padding" if row["tied"] else "d2l"]
        name = f"drawn optimizer {number}: {UPDATES.words(row)}"
        options = _options(row, row["eps"]) | {"learning_rate": 0.1 / _size_of_a_step(row)}
        cases.append(OptimizerCase(name, options, row["steps before"], row["scale"], config))
    return cases


def _size_of_a_step(row: Row) -> float:
    """Return a step's size at rate 1, at most 1: float32 would lose what is nothing beside the weights. AdamW's decay is
    not."""
    scale = row["scale"]
    return {"adam": scale / (scale + row["eps"]), "adamw": 1.0, "sgd": scale if scale < 1.0 else 1.0}[row["optimizer"]]


def _options(row: Row, eps: float) -> dict[str, Any]:
    adam = {"betas": list(row["betas"]), "eps": eps}
    adamw = {**adam, "weight_decay": row["weight_decay"]}
    own = {"adam": adam, "adamw": adamw, "sgd": {"momentum": row["momentum"]}}[row["optimizer"]]
    return {"optimizer": row["optimizer"], "learning_rate": 0.1, "clip_norm": row["clip_norm"], **own}


def training_experiments(dtype: str, seed: int) -> list[Comparison]:
    """The seed's recipe on the first of its models that has a decoder, and of whose target a token counts; the two others."""
    rows = rows_of("train", dtype)
    case = next(case for case in drawn_models(seed) if case.config.has_decoder and (case.rows, case.target_lens) != NOTHING)
    (row,) = RECIPES.share(seed, 1)
    name = f"drawn recipe: {RECIPES.words(row)}"
    drawn = rows and dtype == "float64"  # in less, Adam would make steps of the rounding noise of its gradients
    one = Comparison(name, dtype, rows, partial(_request, case, row, dtype, seed))
    if not drawn:
        return []
    frozen = FrozenComparison(FROZEN_TABLE.name, dtype, rows, partial(_frozen, dtype, seed))
    return [one, frozen, Comparison(TOKENLESS.name, dtype, rows, partial(_tokenless, dtype, seed))]


def _request(case: ModelCase, row: Row, dtype: str, seed: int) -> Request:
    """Adam's epsilon is large, or it would turn the rounding noise of a gradient that is zero into a step of full size."""
    random = stream(seed, "drawn recipe")
    batches = batches_in_turn(case, random, STEPS * row["accumulate"], widths=2)
    arrays = rounded_arrays(named("weights", model_weights(case.config, seed)), dtype)
    arrays |= batches
    options = {**_options(row, 1e-2), "normalization": row["normalization"], "label_smoothing": row["label_smoothing"]}
    spec = {"config": case.config.to_dict(), "options": options, "step_count": 0, "steps": STEPS, "seed": seed}
    return Request("train", dtype, {**spec, "accumulate": row["accumulate"], "set_before": []}, arrays)


FROZEN_TABLE = ModelCase(
    "adamw, the one table frozen, padding",
    CONFIGS["shared and tied, padding"].replace(encoder_num_layers=1, decoder_num_layers=1),
)
ADAMW: dict[str, Any] = {"optimizer": "adamw", "learning_rate": 0.1, "eps": 1e-2, "weight_decay": 0.3}


@dataclass(eq=False)
class FrozenComparison(Comparison):
    """Compare frameworks that have a flag which freezes a parameter."""

    def cells(self, backend: str) -> list[Cell]:
        return super().cells(backend) if not backend or backend.partition("@")[0] in FROZEN else []


def _frozen(dtype: str, seed: int) -> Request:
    """The table is that of both sides and of the output, and its padding row learns nothing where it is not frozen either."""
    request = _adamw(FROZEN_TABLE, ADAMW, dtype, seed)
    return replace(request, spec={**request.spec, "frozen": ["encoder.embedding.weight"]})


def _adamw(case: ModelCase, options: dict[str, Any], dtype: str, seed: int) -> Request:
    arrays = rounded_arrays(named("weights", model_weights(case.config, seed)), dtype)
    arrays |= batches_in_turn(case, stream(seed, "parity", case.name), STEPS, widths=1)
    spec = {"config": case.config.to_dict(), "options": options, "step_count": 0, "steps": STEPS, "seed": seed}
    return Request("train", dtype, {**spec, "accumulate": 1, "set_before": []}, arrays)


def batches_in_turn(case: ModelCase, random: np.random.Generator, count: int, widths: int) -> dict[str, np.ndarray]:
    """Make batches as a training's request has them; of two ``widths`` the model's own and narrower ones in turn.

    The parts of a step differ so, and so do those of the same number in steps that follow one another.
    """
    narrow = replace(case, source_steps=(case.source_steps + 1) // 2, target_steps=(case.target_steps + 1) // 2)
    drawn = [drawn_batch((case, narrow)[number % widths], random) for number in range(count)]
    return {f"batches.{number}.{name}": value for number, batch in enumerate(drawn) for name, value in batch.items()}


TOKENLESS = ModelCase("adamw, a batch of no token", FROZEN_TABLE.config)


def _tokenless(dtype: str, seed: int) -> Request:
    """The mean over the tokens of the second step is one over none: weights decay, and moments move on."""
    request = _adamw(TOKENLESS, {**ADAMW, "normalization": "tokens"}, dtype, seed)
    lens = "batches.1.target_valid_lens"
    return replace(request, arrays={**request.arrays, lens: np.zeros_like(request.arrays[lens])})


# An activation whose slope does not jump: see layer_cases.SMOOTH. Of one block a side: parts of a step are compiled, and anew
# for most mistakes. What a second block would show, the rows of models do.
CASE = ModelCase("sgd, accumulated, weights set", CONFIGS["gelu, halves"].replace(encoder_num_layers=1, decoder_num_layers=1))
# Not Adam, whose first steps are the signs of its gradients, and so of their rounding noise. The steps are large beside the
# last place of a weight in bfloat16: at a tenth of the rate, its one rounding was half of the change of some weights, and at
# this rate it is a tenth.
OPTIONS: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 2.0, "momentum": 0.9}
UPDATES_TAKEN, ACCUMULATE, SET_BEFORE = 4, 3, 2  # of two parts each is the first or the last


def accumulated_experiments(dtype: str, seed: int) -> list[Comparison]:
    return [Comparison(CASE.name, dtype, rows_of("train", dtype), partial(_accumulated, dtype, seed), redrawn=True)]


def _accumulated(dtype: str, seed: int, attempt: int = 0) -> Request:
    """Make the request; in two bytes without dropout, with which TensorFlow, being right, lost 2.3 times as much."""
    seed = redrawn(seed, attempt)
    config = CASE.config if dtype in PLAIN_DTYPES else CASE.config.replace(dropout=0.0)
    random = stream(seed, "parity", CASE.name)
    arrays = rounded_arrays(named("weights", model_weights(config, seed)), dtype)
    # Other widths are compiled anew, as the same program in every dtype; a loss by steps weighs its parts by them.
    widths, normalization = (2, "steps") if dtype == "float64" else (1, "tokens")
    arrays |= batches_in_turn(CASE, random, UPDATES_TAKEN * ACCUMULATE, widths)
    # What is clipped is the sum, and in two bytes its rounding beside a small step.
    clipped = {"clip_norm": 0.5} if dtype == "float64" else {}
    options = {**OPTIONS, **clipped, "normalization": normalization}
    spec = {"config": config.to_dict(), "options": options, "step_count": 0, "steps": UPDATES_TAKEN, "seed": seed}
    return Request("train", dtype, {**spec, "accumulate": ACCUMULATE, "set_before": [SET_BEFORE]}, arrays)
