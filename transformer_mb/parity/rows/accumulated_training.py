"""A training that every dtype is held to: SGD on accumulated batches, whose weights somebody sets on the way.

In formats of two bytes it is the one that is compared with the reference. What is compared is the change of the weights.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...built_in import PLAIN_DTYPES
from ...random_streams import stream
from ..computing.messages import Request, named
from ..computing.precision import rounded_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from .drawn_training import batches_in_turn
from .model_cases import CONFIGS, ModelCase
from .weights import model_weights, redrawn

# An activation whose slope does not jump: see layer_cases.SMOOTH. Of one block a side: parts of a step are compiled, and anew
# for most mistakes. What a second block would show, the rows of models do.
CASE = ModelCase("sgd, accumulated, weights set", CONFIGS["gelu, halves"].replace(encoder_num_layers=1, decoder_num_layers=1))
# Not Adam, whose first steps are the signs of its gradients, and so of their rounding noise. The steps are large beside the
# last place of a weight in bfloat16: at a tenth of the rate, its one rounding was half of the change of some weights, and at
# this rate it is a tenth.
OPTIONS: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 2.0, "momentum": 0.9}
STEPS, ACCUMULATE, SET_BEFORE = 4, 3, 2  # of two parts each is the first or the last


def accumulated_experiments(dtype: str, seed: int) -> list[Comparison]:
    return [Comparison(CASE.name, dtype, rows_of("train", dtype), partial(_request, dtype, seed), redrawn=True)]


def _request(dtype: str, seed: int, attempt: int = 0) -> Request:
    """Make the request; in two bytes without dropout, with which TensorFlow, being right, lost 2.3 times as much."""
    seed = redrawn(seed, attempt)
    config = CASE.config if dtype in PLAIN_DTYPES else CASE.config.replace(dropout=0.0)
    random = stream(seed, "parity", CASE.name)
    arrays = rounded_arrays(named("weights", model_weights(config, seed)), dtype)
    # Other widths are compiled anew, as the same program in every dtype; a loss by steps weighs its parts by them.
    widths, normalization = (2, "steps") if dtype == "float64" else (1, "tokens")
    arrays |= batches_in_turn(CASE, random, STEPS * ACCUMULATE, widths)
    # What is clipped is the sum, and in two bytes its rounding beside a small step.
    clipped = {"clip_norm": 0.5} if dtype == "float64" else {}
    options = {**OPTIONS, **clipped, "normalization": normalization}
    spec = {"config": config.to_dict(), "options": options, "step_count": 0, "steps": STEPS, "seed": seed}
    return Request("train", dtype, {**spec, "accumulate": ACCUMULATE, "set_before": [SET_BEFORE]}, arrays)
