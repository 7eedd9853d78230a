"""The padded batch that a source and its port both run on, and what the reference makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...random_streams import stream
from ...registry import get_backend
from ...task_heads import task_outputs
from ..model import Arrays, PortedModel

ROWS, SOURCE_STEPS, TARGET_STEPS, MAX_STEPS = 4, 64, 32, 8  # positions far beyond those of short sentences
BATCH, TENSOR = "batch.", "tensor."
HEAD = "head."  # what the outputs of parts for tasks are called, before the task's name
END = -1  # what ``tokens`` holds from the end token on


def probe_batch(config: TransformerConfig, seed: int = 0, ended: bool = False) -> dict[str, np.ndarray]:
    """``source`` [B, S] with ragged ``source_valid_lens`` [B] (one token, some, and all of them), ``token_types`` [B, S]
    where the model has them, and ``target`` [B, T]. Where they are to be ``ended``, the end token is a source's last."""
    random = stream(seed, "porting probe")
    batch = {}
    if config.has_encoder:
        steps = min(SOURCE_STEPS, config.max_len)
        lens = np.minimum([steps, 1, 5, 8], steps)
        # Special tokens apart: CTranslate2 takes a source that is nothing but its end for no source at all.
        special = (config.pad_id, config.bos_id, config.eos_id, config.start_id)
        source = _tokens(random, (ROWS, steps), config.source_vocab_size or 0, special)
        if ended:
            lens = np.minimum(np.maximum(lens, 2), steps)  # no source is nothing but its end
            source[np.arange(ROWS), lens - 1] = config.eos_id
        batch["source"] = np.where(np.arange(steps) < lens[:, None], source, config.pad_id)
        batch["source_valid_lens"] = lens
        if config.token_types:
            batch["token_types"] = random.integers(config.token_types, size=source.shape)
    if config.has_decoder:
        shape = (ROWS, min(TARGET_STEPS, config.max_len))
        batch["target"] = _tokens(random, shape, config.target_vocab_size or 0, (config.pad_id,))
        batch["target"][:, 0] = config.start_id
    return {name: array.astype(np.int64) for name, array in batch.items()}


def _tokens(random: np.random.Generator, shape: tuple[int, int], vocab_size: int, without: tuple[int, ...]) -> np.ndarray:
    ordinary = np.setdiff1d(np.arange(vocab_size), without)
    return random.choice(ordinary if len(ordinary) else np.arange(vocab_size), shape)


def max_steps(config: TransformerConfig) -> int:
    """Return the steps, with room for one token more, which transformers generates."""
    return max(1, min(MAX_STEPS, config.max_len - 1))


def run_reference(model: PortedModel, batch: Arrays, decoded: bool = True) -> dict[str, np.ndarray]:
    """Run the canonical weights in NumPy, in float64: ``encoder``, ``pooled``, ``logits``, ``tokens``, and its heads."""
    backend = get_backend("numpy", dtype="float64")
    outputs = run_backend(backend, model.config, model.weights, batch, decoded)
    if not decoded or not any(head.task for head in model.heads):
        return outputs
    native = backend.from_weights(model.config, model.weights)
    given = batch_of_heads(batch, model.config.eos_id if model.config.architecture == "encoder_decoder" else None)
    found = task_outputs(backend, native, model.heads, *given)
    return {**outputs, **{f"{HEAD}{task}": array for task, array in found.items()}}


def batch_of_heads(batch: Arrays, eos_id: int | None) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return what heads read: sources with lengths and types, which end with ``eos_id`` where one is given; else targets."""
    if "source" not in batch:
        return batch["target"], None, None
    source, lens = batch["source"].copy(), batch["source_valid_lens"]
    if eos_id is not None:
        source[np.arange(len(source)), lens - 1] = eos_id
    return source, lens, batch.get("token_types")


def run_backend(
    backend: Any, config: TransformerConfig, weights: Arrays, batch: Arrays, decoded: bool = True
) -> dict[str, np.ndarray]:
    """The outputs of a backend's own model with these weights."""
    native = backend.create_empty(config)
    backend.set_weights(native, weights)
    return run_model(backend, native, batch, decoded)


def run_model(backend: Any, native: Any, batch: Arrays, decoded: bool = True) -> dict[str, np.ndarray]:
    """The outputs of a model of a backend, with greedy tokens where they are to be ``decoded``."""
    config: TransformerConfig = native.config
    source, lens = batch.get("source"), batch.get("source_valid_lens")
    outputs = {}
    if config.has_encoder:
        outputs["encoder"] = backend.encode(native, source, lens, batch.get("token_types"))
    if config.pooler:
        outputs["pooled"] = backend.apply(native.pooler, outputs["encoder"])
    if config.has_decoder:
        outputs["logits"] = backend.logits(native, source, batch["target"], lens)
    if config.architecture == "encoder_decoder" and decoded:
        steps = max_steps(config)
        outputs["tokens"] = padded_tokens(backend.greedy(native, source, lens, steps), steps)
    return outputs


def request_arrays(batch: Arrays, tensors: Arrays) -> dict[str, np.ndarray]:
    """Return what a reference run gets: the probe batch, and the tensors as they were read."""
    return {
        **{f"{BATCH}{name}": array for name, array in batch.items()},
        **{f"{TENSOR}{name}": array for name, array in tensors.items()},
    }


def parts(arrays: Arrays) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The probe batch and the tensors of ``request_arrays``."""
    batch, tensors = (
        {name.removeprefix(kind): array for name, array in arrays.items() if name.startswith(kind)} for kind in (BATCH, TENSOR)
    )
    return batch, tensors


def padded_tokens(rows: list[list[int]], steps: int) -> np.ndarray:
    """Lists of ids as [B, steps] int64 with ``END`` behind them."""
    return np.array([[*row, *[END] * (steps - len(row))] for row in rows], np.int64).reshape(len(rows), steps)


def greedy_tokens(
    logits: Callable[[np.ndarray], np.ndarray], rows: int, config: TransformerConfig, max_steps: int
) -> np.ndarray:
    """[B, max_steps] int64: the whole prefix is computed again at every step; ``END`` from the end token on."""
    target = np.full((rows, 1), config.start_id, np.int64)
    for _ in range(max_steps):
        last = logits(target)[:, -1].copy()
        last[:, list(config.suppress_ids)] = -np.inf
        target = np.concatenate([target, last.argmax(axis=1)[:, None].astype(np.int64)], axis=1)
    tokens = target[:, 1:]
    ended = np.maximum.accumulate(tokens == config.eos_id, axis=1)
    return np.where(ended, END, tokens)
