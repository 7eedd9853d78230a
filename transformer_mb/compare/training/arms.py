"""The training of an arm: the job of every effect, from initial weights as a framework's own layers have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np

from ...backend import Backend
from ...batch import Batch
from ...config import TransformerConfig
from ...data import Batches, Pairs, build_vocabularies, demo_pairs, pair_ids
from ...dropout_masks import batch_sites, keep_mask
from ...initialization import initial_weights
from ...random_streams import stream
from ...training.schedules import Span, linear
from ...training.validation import mean_loss
from .swaps import Arm
from .updating import UpdateOptions, Updates

# D2L's model (chapter 10.7, the defaults of TransformerConfig) on the built-in corpus. The schedule warms up and then falls to
# zero, so that the last step is no accident of its batch.
STEPS, WARMUP, BATCH = 100, 20, 32
SHOWN = 256  # sentences of the held-out loss


class Corpus(NamedTuple):
    """Batches of a seed's order, and those that no training sees."""

    config: TransformerConfig
    pairs: Any
    held_out: Batches


class Trained(NamedTuple):
    """Results of a training: the held-out loss in nats per token, and the weights."""

    loss: float
    weights: dict[str, np.ndarray]


@cache
def corpus() -> Corpus:
    learned, unseen = demo_pairs()
    source, target = vocabularies = build_vocabularies(Pairs(learned), "d2l", 1)
    config = TransformerConfig(
        source_vocab_size=len(source),
        target_vocab_size=len(target),
        pad_id=target.pad_id,
        bos_id=target.bos_id,
        eos_id=target.eos_id,
    )
    held_out = _batches(config, pair_ids(Pairs(unseen[:SHOWN]), *vocabularies), 0, shuffle=False)
    return Corpus(config, pair_ids(Pairs(learned), *vocabularies), held_out)


def _batches(config: TransformerConfig, ids: Any, seed: int, shuffle: bool = True) -> Batches:
    return Batches(
        ids,
        BATCH,
        seed,
        max_len=config.max_len,
        start_id=config.start_id,
        eos_id=config.eos_id,
        pad_id=config.pad_id,
        shuffle=shuffle,
    )


def order(seed: int, steps: int) -> Iterator[Batch]:
    """The batches of a training; the seed decides their order."""
    batches = _batches(corpus().config, corpus().pairs, seed)
    return islice((batch for epoch in count() for batch in batches.epoch(epoch)), steps)


def trained(backend: Backend, arm: Arm, seed: int, steps: int = STEPS) -> Trained:
    """Weights, order and dropout masks are the seed's own, so that two arms of a seed differ by the arm alone."""
    config = corpus().config.replace(**arm.model)
    model = backend.create_empty(config)
    started = {name: value.astype(backend.dtype) for name, value in starting_weights(config, seed, arm.initial).items()}
    updates = Updates(UpdateOptions(**arm.update), started)
    span = Span(WARMUP, steps, config.num_hiddens)
    for step, batch in enumerate(order(seed, steps)):
        backend.set_weights(model, updates.weights)
        masks = kept(config, seed, step, batch, arm.shared_masks)
        _, gradients = backend.loss_and_gradients(model, batch, normalization="tokens", dropout_masks=masks)
        updates.step(gradients, updates.options.learning_rate * linear(step + 1, span))
    backend.set_weights(model, updates.weights)
    return Trained(mean_loss(backend, model, corpus().held_out), updates.weights)


def kept(config: TransformerConfig, seed: int, step: int, batch: Batch, shared: bool) -> dict[str, np.ndarray]:
    """The masks of one step; ``shared``: those of attention weights [B, H, T, S] are one [T, S], as flax's are."""
    masks = {}
    for path, (rate, shape) in batch_sites(config, batch).items():
        drawn = (1, 1, *shape[2:]) if shared and len(shape) == 4 else shape
        masks[path] = np.broadcast_to(keep_mask(seed, step, path, rate, drawn), shape).copy()
    return masks


def moved_logits(backend: Backend, weights: Mapping[str, np.ndarray], base: Arm, swapped: Arm) -> float:
    """The root mean square by which the logits of held-out sentences move, over that of the logits; padding left out."""
    batch = next(corpus().held_out.epoch(0))
    logits = []
    for arm in (base, swapped):
        config = corpus().config.replace(**arm.model)
        wide = {name: value.astype(np.float64) for name, value in weights.items()}
        model = backend.from_weights(config, wide)
        logits.append(backend.logits(model, batch.source, batch.target_in, batch.source_valid_lens))
    counted = np.arange(batch.target_in.shape[1]) < batch.target_valid_lens[:, None]
    before, after = (one[counted] for one in logits)
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


Weights = dict[str, np.ndarray]


def starting_weights(config: TransformerConfig, seed: int, changes: tuple[str, ...]) -> Weights:
    """Glorot-uniform dense weights, zero biases, normal embeddings of variance 1/size; then ``changes``, by name."""
    weights = initial_weights(config, seed)
    for change in changes:
        weights |= CHANGES[change](weights, config, seed)
    return weights


def _of_torch(chosen: Callable[[str], bool]) -> Callable[[Weights, TransformerConfig, int], Weights]:
    def change(weights: Weights, config: TransformerConfig, seed: int) -> Weights:
        torch = initial_weights(config, seed, "torch_default")
        return {name: torch[name] for name in weights if chosen(name)}

    return change


def _uniform(chosen: Callable[[str], bool], limit: float) -> Callable[[Weights, TransformerConfig, int], Weights]:
    def change(weights: Weights, config: TransformerConfig, seed: int) -> Weights:
        return {
            name: stream(seed, "initial", name).uniform(-limit, limit, value.shape)
            for name, value in weights.items()
            if chosen(name) and value.ndim == 2
        }

    return change


def _is_embedding(name: str) -> bool:
    return "embedding.weight" in name


def _is_dense(name: str) -> bool:
    """A norm's weight too, which every scheme starts with ones."""
    return name.endswith(".weight") and not _is_embedding(name)


def _padding_rows(weights: Weights, config: TransformerConfig, seed: int) -> Weights:
    tables = {name: value.copy() for name, value in weights.items() if _is_embedding(name)}
    for table in tables.values():
        table[config.pad_id] = 0.0
    return tables


def _next_larger(weights: Weights, config: TransformerConfig, seed: int) -> Weights:
    upwards = np.float32(np.inf)
    return {name: np.nextafter(value.astype(np.float32), upwards).astype(value.dtype) for name, value in weights.items()}


CHANGES: dict[str, Callable[[Weights, TransformerConfig, int], Weights]] = {
    "dense of torch": _of_torch(_is_dense),
    "dense of mxnet": _uniform(_is_dense, 0.07),
    "biases of torch": _of_torch(lambda name: name.endswith(".bias")),
    "embeddings of torch": _of_torch(_is_embedding),
    "embeddings of keras": _uniform(_is_embedding, 0.05),
    "padding rows zero": _padding_rows,
    "next larger": _next_larger,
}
