"""The rows of whole models: outputs, loss, gradients, and one optimizer step from given gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...dropout_masks import dropout_masks
from ...random_streams import stream
from ...registry import PLAIN_DTYPES
from ...trainer import SLOTS
from ..computing.messages import Request, named
from ..computing.precision import rounded_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from .drawn_models import drawn_models
from .drawn_values import lengths
from .model_cases import MODELS, OPTIMIZERS, SMOOTH, ModelCase, OptimizerCase
from .weights import model_weights

CACHED = 2  # drawn models that are fed in pieces
PIECES = (1, 2, 3, 8)


def model_experiments(dtype: str, seed: int) -> list[Comparison]:
    """In formats of two bytes a few models, one of them drawn; gradients there without ReLU: see ``model_cases.SMOOTH``."""
    forward, loss, gradients = rows_of("model", dtype)
    experiments = []
    for case in (*MODELS, *drawn_models(seed)):
        if dtype in PLAIN_DTYPES or case.every_dtype:
            rows: tuple[str, ...] = (forward,) if case.config.architecture == "encoder" else (forward, loss, gradients)
            if dtype not in PLAIN_DTYPES and case.config.activation not in SMOOTH:
                rows = rows[:2]
            make = partial(model_request, case, dtype, seed, len(rows) > 1)
            experiments.append(Comparison(case.name, dtype, rows, make))
    return experiments


def model_request(case: ModelCase, dtype: str, seed: int, with_loss: bool) -> Request:
    """Random weights and tokens; the loss with dropout from injected masks, where the case says so."""
    config, random = case.config, stream(seed, "parity", case.name)
    batch = _batch(case, random)
    arrays = rounded_arrays(named("weights", model_weights(config, seed)), dtype) | named("batch", batch)
    # The logits depend on every state of the encoder: to ask for these too would have each compiler work once more.
    wanted = ["states"] if config.architecture == "encoder" else ["logits"]
    if config.pooler:
        wanted.append("pooled")
    if case.attention:
        wanted.append("attention")
    if with_loss:
        wanted.append("loss")
        if case.dropout:
            steps = (case.source_steps if config.has_encoder else 0, case.target_steps)
            arrays |= named("masks", dropout_masks(config, seed, 0, case.rows, *steps))
    return Request("model", dtype, {"config": config.to_dict(), "wanted": wanted, "loss": case.loss}, arrays)


def _batch(case: ModelCase, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Ragged random tokens; what lies beyond a row's length is random too, for nobody may look at it."""
    config, rows = case.config, case.rows
    batch: dict[str, np.ndarray] = {}
    if config.source_vocab_size is not None:
        batch["source"] = random.integers(0, config.source_vocab_size, (rows, case.source_steps))
        batch["source_valid_lens"] = lengths(case.source_lens, random, rows, case.source_steps)
    if config.token_types:
        batch["token_types"] = random.integers(0, config.token_types, (rows, case.source_steps))
    if config.target_vocab_size is not None:
        shape = (rows, case.target_steps)
        batch["target_in"] = random.integers(0, config.target_vocab_size, shape)
        batch["target_out"] = random.integers(0, config.target_vocab_size, shape)
        batch["target_valid_lens"] = lengths(case.target_lens, random, rows, case.target_steps)
    return batch


def cached_experiments(dtype: str, seed: int) -> list[Comparison]:
    """The book's model and drawn ones, whose target is fed to the decoder in pieces of drawn sizes."""
    rows = rows_of("cached", dtype)
    cases = [MODELS[0], *[case for case in drawn_models(seed) if case.config.has_decoder][:CACHED]]
    return [Comparison(case.name, dtype, rows, partial(cached_request, case, dtype, seed)) for case in cases if rows]


def cached_request(case: ModelCase, dtype: str, seed: int) -> Request:
    """With buffers allocated for all steps or for more, or grown; every other case has left padding."""
    config, random = case.config, stream(seed, "cached", case.name)
    batch = _batch(case, random)
    arrays = rounded_arrays(named("weights", model_weights(config, seed)), dtype) | named("batch", batch)
    steps = case.target_steps
    max_steps = (None, steps, config.max_len)[random.integers(3)]
    pieces: list[int] = []
    while sum(pieces) < steps:
        pieces.append(int(min(random.choice(PIECES), steps - sum(pieces))))
    if random.random() < 0.5 and config.compat_decode == "correct":
        arrays["left_padding"] = random.integers(0, steps, case.rows)
    return Request("cached", dtype, {"config": config.to_dict(), "pieces": pieces, "max_steps": max_steps}, arrays)


def optimizer_experiments(dtype: str, seed: int) -> list[Comparison]:
    """In formats of two bytes each optimizer once, and one with clipping."""
    rows = rows_of("update", dtype)
    cases = [case for case in OPTIMIZERS if dtype in PLAIN_DTYPES or case.every_dtype]
    return [Comparison(case.name, dtype, rows, partial(optimizer_request, case, dtype, seed)) for case in cases]


def optimizer_request(case: OptimizerCase, dtype: str, seed: int) -> Request:
    """From identical gradients: Adam would turn the rounding noise of a gradient into a step of full size."""
    random = stream(seed, "parity", case.name)
    weights = model_weights(case.config, seed)
    arrays = named("weights", weights)
    arrays |= {f"gradients.{name}": case.scale * random.standard_normal(value.shape) for name, value in weights.items()}
    arrays = rounded_arrays(arrays, dtype)
    if case.step_count:  # an optimizer's state is never less than float32
        least = dtype if dtype in PLAIN_DTYPES else "float32"
        arrays |= rounded_arrays(named("slots", _moments(case, weights, random)), least)
    spec: dict[str, Any] = {"config": case.config.to_dict(), "options": case.options, "step_count": case.step_count}
    return Request("update", dtype, spec, arrays)


def _moments(case: OptimizerCase, weights: dict[str, np.ndarray], random: np.random.Generator) -> dict[str, np.ndarray]:
    """What earlier gradients of the same size would have left: v is a mean of squares, so it is positive."""
    moments = {}
    for slot in SLOTS[case.options["optimizer"]]:
        for name, value in weights.items():
            noise = case.scale * random.standard_normal(value.shape)
            moments[f"{slot}.{name}"] = np.square(noise) if slot == "v" else noise
    return moments
