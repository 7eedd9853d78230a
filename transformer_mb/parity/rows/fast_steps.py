"""The rows of what is made fast: steps compiled or with rounded products, decoding in eight bits; where that is offered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...dropout_masks import dropout_masks
from ...random_streams import stream
from ...rounding import TF32_TOWARDS_ZERO
from ..cells import FAILED, PASSED, Ask, Cell, Result, is_offered
from ..computing import reference
from ..computing.alterations import shifted
from ..computing.messages import Request, named, perturbed_copy, rounded_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from ..verdict.limits import ByArray, worst_by_array, worst_errors
from .drawn_values import model_weights, redrawn, with_uneven_rows
from .model_cases import CONFIGS, SMALL, ModelCase
from .models import drawn_batch, model_request

# A step's gradient is read off its weights, which lose its small parts beside large weights: it is made large before that.
RATE = 2.0**14
SGD: dict[str, Any] = {"optimizer": "sgd", "learning_rate": RATE, "normalization": "tokens", "label_smoothing": 0.1}
# In which of NumPy's ``gpu_settings`` a format's losses are measured for a GPU, the worst of them: it may round either way.
# Of the most that NumPy loses in eight bits: over fifty seeds it loses at least 0.095 of that, in float32 at most 0.0053.
LEAST_SHARE = 0.02
ROUNDINGS = {"tf32": (None, TF32_TOWARDS_ZERO)}


@dataclass(frozen=True)
class Fast:
    """The options that are asked for beside the recipe or the model.

    Args:
        option: as ``registry.Entry`` names it, in ``fast``, ``on_cpu`` or ``on_gpu``.
        options: of TrainerOptions, or the ``dtype`` of a translation. dtypes: of the weights. models: of
            ``model_cases.CONFIGS``; those whose gradients come rounded without ReLU, see ``layer_cases.SMOOTH``.
        computation: what shows it. rounded_to: the format of its factors, where that is less than float32.
        setting: of ``Backend.gpu_settings``, in which it is computed. times: how often it is, before the last one counts.
        shows: as ``Comparison`` has it.
    """

    option: str
    options: dict[str, Any]
    dtypes: tuple[str, ...]
    models: tuple[str, ...]
    computation: str = "whole_step"
    rounded_to: str | None = None
    setting: str | None = None
    times: int = 1
    shows: Mapping[str, Callable[[Request], Request]] = field(default_factory=dict)


# A step more or less may change a loss by less than rounding does; and in eight bits much is lost beside which one key more or
# less is nothing, where no query attends to it.
STEPS = {"fast loss": shifted("batch.target_valid_lens")}
KEYS = {"fast logits": shifted("batch.source_valid_lens")}
PREFIX = [5, 9, 4, 7]  # of a target that a search continues
MODELS = ("gelu, halves", "silu, uneven sides", "shared and tied, padding")
FAST = (
    Fast("bf16", {"precision": "bf16"}, ("float32",), MODELS, rounded_to="bfloat16", shows=STEPS),
    Fast("tf32", {"precision": "tf32"}, ("float32",), MODELS, rounded_to="tf32", shows=STEPS),
    Fast("compile", {"compile": True}, PLAIN_DTYPES, ("embedding norm",)),
    # The first call warms up, the second is captured, and from the third on the graphs are run.
    Fast("CUDA graphs", {"compile": True}, ("float32",), ("embedding norm",), setting="CUDA graphs", times=4),
    Fast("int8", {"dtype": "int8"}, ("float32",), (*MODELS, "d2l"), "eight_bits", rounded_to="bfloat16", shows=KEYS),
)


@dataclass(eq=False)
class FastComparison(Comparison):
    """A comparison with cells in the backends alone that have the option. ``on_gpu``: labels of columns that are on one."""

    option: str = ""
    on_gpu: Collection[str] = ()

    def cells(self, backend: str) -> list[Cell]:
        return super().cells(backend) if not backend or is_offered(self.option, backend, self.on_gpu) else []


@dataclass(eq=False)
class CoarseComparison(FastComparison):
    """Held to what NumPy loses that rounds the same products, here and with arrays off by a last place of their format."""

    rounded_to: str = "bfloat16"
    ways: tuple[str | None, ...] = (None,)

    @cached_property
    def _for_a_gpu(self) -> CoarseComparison:
        return replace(self, ways=ROUNDINGS[self.rounded_to])

    def judging(self, backend: str) -> CoarseComparison:
        """Allow what rounding towards zero loses, twice as much, where a GPU may do it."""
        either_way = backend in self.on_gpu and ROUNDINGS.get(self.rounded_to, self.ways) != self.ways
        return self._for_a_gpu if either_way else self

    def run(self, backend: str, ask: Ask) -> list[Result]:
        judging = self.judging(backend)
        return super().run(backend, ask) if judging is self else judging.run(backend, ask)

    @cached_property
    def judged_in(self) -> str:
        return self.rounded_to

    @cached_property
    def _asked(self) -> Request:
        return self.request

    def perturbed(self, number: int) -> Request:
        copy = perturbed_copy(replace(self.request, dtype=self.rounded_to), number)
        return replace(copy, dtype=self.dtype)

    def _lost(self, request: Request, expected: Arrays | None = None) -> dict[str, ByArray]:
        lost = [self._errors(request, reference.baseline(request, way), expected) for way in self.ways]
        return {row: worst_by_array([errors[row] for errors in lost]) for row in self.rows}

    @property
    def rounds_once(self) -> bool:
        return False


class EightBits(CoarseComparison):
    """Held to a least loss too: what is as exact as float32 has rounded nothing, whatever it was asked for."""

    def run(self, backend: str, ask: Ask) -> list[Result]:
        answers: list[Arrays] = []

        def kept(request: Request) -> Arrays:
            answers.append(ask(request))
            return answers[-1]

        return [self._rounded(result, answers[0]) for result in super().run(backend, kept)]

    def _rounded(self, result: Result, got: Arrays) -> Result:
        lost = worst_errors(self.errors_of(got)[result.row].values()).norm
        least = LEAST_SHARE * self.baseline(result.row).numpy.norm
        if result.status != PASSED or lost >= least:
            return result
        reason = f"{lost:.1e} by norm, less than eight bits can lose; at least {least:.1e} was expected"
        return replace(result, status=FAILED, reason=reason, error=lost, limit=least)


def fast_experiments(dtype: str, seed: int, on_gpu: Collection[str]) -> list[Comparison]:
    return [
        comparison(f"{fast.option}, {name}", fast, partial(fast_request, name, fast, dtype, seed), dtype, on_gpu)
        for fast in FAST
        if dtype in fast.dtypes
        for name in fast.models
    ]


def comparison(case: str, fast: Fast, make: Callable[..., Request], dtype: str, on_gpu: Collection[str]) -> Comparison:
    shared: dict[str, Any] = {"option": fast.option, "on_gpu": on_gpu}
    rows = rows_of(fast.computation, dtype)
    if fast.rounded_to is None:
        return FastComparison(case, dtype, rows, make, **shared)
    kind = EightBits if fast.option == "int8" else CoarseComparison
    return kind(case, dtype, rows, make, redrawn=True, shows=fast.shows, **shared, rounded_to=fast.rounded_to)


def fast_request(name: str, fast: Fast, dtype: str, seed: int, attempt: int = 0) -> Request:
    """Random weights and ragged tokens, dropout from injected masks."""
    seed = redrawn(seed, attempt)
    config, random = CONFIGS[name], stream(seed, "parity", f"{fast.option}, {name}")
    if fast.options.get("compile"):  # which takes torch half a minute for two blocks of each side
        config = config.replace(encoder_num_layers=1, decoder_num_layers=1)
    case = ModelCase(name, config)
    weights = model_weights(case.config, seed)
    if fast.option == "int8":
        weights = with_uneven_rows(weights)
    # The format's numbers, which are float32's too: a copy of them perturbed in their last place is then a neighbour.
    arrays = rounded_arrays(named("weights", weights), fast.rounded_to or dtype)
    masks = dropout_masks(case.config, seed, 0, case.rows, case.source_steps, case.target_steps)
    arrays |= named("batch", drawn_batch(case, random)) | named("masks", masks)
    spec = {
        "config": case.config.to_dict(),
        "options": SGD,
        "fast": fast.options,
        "step_count": 0,
        "times": fast.times,
        "prefix": PREFIX,
    }
    return Request(fast.computation, dtype, spec | ({"setting": fast.setting} if fast.setting else {}), arrays)


# Heads of 16, for cuDNN and PyTorch's flash attention take multiples of 8; gradients without ReLU, see ``layer_cases.SMOOTH``.
CONFIG = TransformerConfig(**{**SMALL, "num_hiddens": 32, "ffn_num_hiddens": 48}, activation="gelu")
CASE = ModelCase("", CONFIG, rows=3, source_steps=16, target_steps=8, dropout=False)
# Without an encoder, whose lengths come as a mask also where nothing is padded.
UNMASKED = CONFIG.replace(architecture="decoder", source_vocab_size=None)
PADDED = np.array([16, 9, 0])  # the last row attends to nothing
# PyTorch's flash attention takes no mask, and so no padding; it and cuDNN take formats of two bytes alone.
KERNELS = {
    "math": (("float32", "bfloat16", "float16"), ("padding", "no padding")),
    "flash": (("bfloat16", "float16"), ("no padding",)),
    "memory-efficient": (("float32", "bfloat16", "float16"), ("padding", "no padding")),
    "cuDNN": (("bfloat16", "float16"), ("padding", "no padding")),
}


def kernel_experiments(dtype: str, seed: int, on_gpu: Collection[str]) -> list[Comparison]:
    return [
        FastComparison(
            f"{kernel} attention, {padding}",
            dtype,
            rows_of("model", dtype),
            partial(kernel_request, kernel, padding, dtype, seed),
            redrawn=True,
            option=kernel,
            on_gpu=on_gpu,
        )
        for kernel, (dtypes, paddings) in KERNELS.items()
        if dtype in dtypes
        for padding in paddings
    ]


def kernel_request(kernel: str, padding: str, dtype: str, seed: int, attempt: int = 0) -> Request:
    case = replace(CASE, name=f"{kernel} attention, {padding}")
    if padding == "no padding":
        return model_request(replace(case, config=UNMASKED), dtype, seed, True, attempt).in_setting(kernel)
    request = model_request(case, dtype, seed, True, attempt)
    return replace(request.in_setting(kernel), arrays={**request.arrays, "batch.source_valid_lens": PADDED})
