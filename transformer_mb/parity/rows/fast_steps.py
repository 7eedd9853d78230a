"""The rows of what is made fast: steps compiled or with products in bfloat16, decoding in eight bits; where that is offered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from ...dropout_masks import dropout_masks
from ...random_streams import stream
from ...registry import BUILT_IN, PLAIN_DTYPES
from ..cells import Cell
from ..computing.messages import Request, named
from ..computing.precision import perturbed_copy, rounded_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from ..verdict.limits import PERTURBED_COPIES, Baseline
from ..verdict.measure import NONE
from .model_cases import CONFIGS, ModelCase
from .models import drawn_batch
from .weights import model_weights

# A step's gradient is read off its weights, which lose its small parts beside large weights: it is made large before that.
RATE = 2.0**14
SGD: dict[str, Any] = {"optimizer": "sgd", "learning_rate": RATE, "normalization": "tokens", "label_smoothing": 0.1}


@dataclass(frozen=True)
class Fast:
    """What is asked for beside the recipe or the model.

    Args:
        option: as ``registry.Entry.fast`` names it.
        options: of TrainerOptions, or the ``dtype`` of a translation. dtypes: of the weights. models: of
            ``model_cases.CONFIGS``; those whose gradients come in bfloat16 without ReLU, see ``model_cases.SMOOTH``.
        computation: what shows it. coarse: whether it rounds more than float32 does.
    """

    option: str
    options: dict[str, Any]
    dtypes: tuple[str, ...]
    models: tuple[str, ...]
    computation: str = "whole_step"
    coarse: bool = False


MODELS = ("gelu, halves", "silu, uneven sides", "shared and tied, padding")
FAST = (
    Fast("bf16", {"precision": "bf16"}, ("float32",), MODELS, coarse=True),
    Fast("compile", {"compile": True}, PLAIN_DTYPES, ("embedding norm",)),
    Fast("int8", {"dtype": "int8"}, ("float32",), (*MODELS, "d2l"), "eight_bits", coarse=True),
)


@dataclass(eq=False)
class FastComparison(Comparison):
    """A comparison with cells in the backends alone that have the option."""

    option: str = ""

    def cells(self, backend: str) -> list[Cell]:
        name = backend.partition("@")[0]
        offered = not name or (name in BUILT_IN and self.option in BUILT_IN[name].fast)
        return super().cells(backend) if offered else []


class CoarseComparison(FastComparison):
    """Held to what NumPy loses that rounds the same products, here and with arrays off by a last place of bfloat16.

    The weights are bfloat16's numbers already, so how far such a place moves the exact result is allowed to nobody.
    """

    @cached_property
    def judged_in(self) -> str:
        return "bfloat16"

    @cached_property
    def _asked(self) -> Request:
        return self.request

    def perturbed(self, number: int) -> Request:
        copy = perturbed_copy(replace(self.request, dtype="bfloat16"), number)
        return replace(copy, dtype=self.dtype)

    def baseline(self, row: str, copies: int = PERTURBED_COPIES) -> Baseline:
        return replace(super().baseline(row, copies), copies=NONE)

    @property
    def rounds_once(self) -> bool:
        return False


def fast_experiments(dtype: str, seed: int) -> list[Comparison]:
    return [
        (CoarseComparison if fast.coarse else FastComparison)(
            f"{fast.option}, {name}",
            dtype,
            rows_of(fast.computation, dtype),
            partial(fast_request, name, fast, dtype, seed),
            option=fast.option,
        )
        for fast in FAST
        if dtype in fast.dtypes
        for name in fast.models
    ]


def fast_request(name: str, fast: Fast, dtype: str, seed: int) -> Request:
    """Random weights and ragged tokens, dropout from injected masks."""
    config, random = CONFIGS[name], stream(seed, "parity", f"{fast.option}, {name}")
    if fast.option == "compile":  # which takes torch half a minute for two blocks of each side
        config = config.replace(encoder_num_layers=1, decoder_num_layers=1)
    case = ModelCase(name, config)
    # bfloat16's numbers, which are float32's too: a copy of them perturbed in their last place is then a neighbour.
    weights = rounded_arrays(named("weights", model_weights(case.config, seed)), "bfloat16" if fast.coarse else dtype)
    masks = dropout_masks(case.config, seed, 0, case.rows, case.source_steps, case.target_steps)
    arrays = weights | named("batch", drawn_batch(case, random)) | named("masks", masks)
    spec = {"config": case.config.to_dict(), "options": SGD, "fast": fast.options, "step_count": 0}
    return Request(fast.computation, dtype, spec, arrays)
