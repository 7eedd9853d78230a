"""The rows of whole models: outputs, loss and gradients."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...dropout_masks import dropout_masks
from ...random_streams import stream
from ..computing.alterations import shifted
from ..computing.messages import Request, named, rounded_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from .drawn_models import drawn_models
from .drawn_values import lengths, model_weights, redrawn
from .layer_cases import SMOOTH
from .model_cases import MODELS, ModelCase

# In two bytes of the case that it is planted into: one key more or less is little where no query attends to it.
SHOWS = {"d2l": {"model forward": shifted("batch.source_valid_lens")}}


def model_experiments(dtype: str, seed: int) -> list[Comparison]:
    """Make the models; in two bytes a few, one of them drawn, with gradients where ``layer_cases.SMOOTH`` allows."""
    forward, loss, gradients = rows_of("model", dtype)
    experiments = []
    for case in (*MODELS, *drawn_models(seed)):
        if dtype in PLAIN_DTYPES or case.every_dtype:
            # An encoder alone has no loss.
            own = () if case.config.architecture == "encoder" else (loss,)
            rows = (forward, *own, gradients)
            if dtype not in PLAIN_DTYPES and case.config.activation not in SMOOTH:
                rows = rows[:-1]
            make = partial(model_request, case, dtype, seed, len(rows) > 1)
            experiments.append(Comparison(case.name, dtype, rows, make, redrawn=True, shows=SHOWS.get(case.name, {})))
    return experiments


def model_request(case: ModelCase, dtype: str, seed: int, with_gradients: bool, attempt: int = 0) -> Request:
    """Random weights and tokens; the loss with dropout from injected masks, where the case says so."""
    seed = redrawn(seed, attempt)
    config, random = case.config, stream(seed, "parity", case.name)
    batch = drawn_batch(case, random)
    arrays = rounded_arrays(named("weights", model_weights(config, seed)), dtype) | named("batch", batch)
    # The logits depend on every state of the encoder: to ask for these too would have each compiler work once more.
    wanted = ["states"] if config.architecture == "encoder" else ["logits"]
    if config.pooler:
        wanted.append("pooled")
    if case.attention:
        wanted.append("attention")
    if with_gradients and config.architecture == "encoder":
        wanted.append("encoder gradients")
        shape = (case.rows, case.source_steps, config.num_hiddens)
        cotangents = {"cotangent": random.standard_normal(shape), "pooled cotangent": random.standard_normal(shape[::2])}
        arrays |= rounded_arrays(cotangents, dtype)
    elif with_gradients:
        wanted.append("loss")
        if case.dropout:
            steps = (case.source_steps if config.has_encoder else 0, case.target_steps)
            arrays |= named("masks", dropout_masks(config, seed, 0, case.rows, *steps))
    return Request("model", dtype, {"config": config.to_dict(), "wanted": wanted, "loss": case.loss}, arrays)


def drawn_batch(case: ModelCase, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Ragged random tokens; what lies beyond a row's length is random too, for no backend may look at it."""
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
