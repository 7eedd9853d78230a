"""The training of an arm: the job of every effect, from a framework's own initial weights, by optimizers with its switches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class UpdateOptions:
    """An optimizer with its clipping, each switch as some framework has it. The defaults are ``TrainerOptions``' formulas.

    Args:
        optimizer: ``adam`` or ``sgd``. learning_rate: the peak of the schedule.
        eps: Adam's. eps_in: added to the root of the ``corrected`` second moment (Kingma & Ba 2015, Algorithm 1), or of the
            ``raw`` one with the corrections in the step size (their section 2, last paragraph: epsilon-hat).
        weight_decay: 0 is none. decay: ``gradient`` adds weight_decay * weight to the gradient, ``decoupled`` takes
            learning rate * weight_decay * weight from the weight (Loshchilov & Hutter 2019).
        momentum: SGD's. velocity: sums ``gradients``, times the learning rate of now; or ``steps``, each with the learning
            rate of its time.
        clip_norm: None is none. clip: the norm of all gradients ``together``, or of ``each`` variable's by itself.
            clip_eps: added to the norm that divides.
    """

    optimizer: str = "adam"
    learning_rate: float = 0.005
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    eps_in: str = "corrected"
    weight_decay: float = 0.0
    decay: str = "decoupled"
    momentum: float = 0.0
    velocity: str = "gradients"
    clip_norm: float | None = 1.0
    clip: str = "together"
    clip_eps: float = 0.0


class Updates:
    """The optimizer's moments, and its steps. Arithmetic is in the weights' dtype."""

    def __init__(self, options: UpdateOptions, weights: Arrays):
        self.options = options
        self.weights = {name: np.array(value) for name, value in weights.items()}
        self.first = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.second = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self.count = 0

    def step(self, gradients: Arrays, learning_rate: float) -> None:
        """Clip, then move every weight."""
        self.count += 1
        gradients = clipped(gradients, self.options)
        moves = self._adam if self.options.optimizer == "adam" else self._sgd
        rate = learning_rate * self.options.weight_decay
        for name, weight in self.weights.items():
            gradient = gradients[name]
            decayed = rate * weight if self.options.decay == "decoupled" else 0.0
            if rate and self.options.decay == "gradient":
                gradient = gradient + self.options.weight_decay * weight
            weight -= moves(name, gradient, learning_rate) + decayed

    def _adam(self, name: str, gradient: np.ndarray, learning_rate: float) -> np.ndarray:
        beta1, beta2 = self.options.betas
        first, second = self.first[name], self.second[name]
        first += (1.0 - beta1) * (gradient - first)
        second += (1.0 - beta2) * (gradient * gradient - second)
        left1, left2 = 1.0 - beta1**self.count, 1.0 - beta2**self.count
        if self.options.eps_in == "raw":
            return learning_rate * math.sqrt(left2) / left1 * first / (np.sqrt(second) + self.options.eps)
        return learning_rate / left1 * first / (np.sqrt(second / left2) + self.options.eps)

    def _sgd(self, name: str, gradient: np.ndarray, learning_rate: float) -> np.ndarray:
        velocity = self.first[name]
        velocity *= self.options.momentum
        velocity += gradient if self.options.velocity == "gradients" else learning_rate * gradient
        return learning_rate * velocity if self.options.velocity == "gradients" else velocity.copy()


def clipped(gradients: Arrays, options: UpdateOptions) -> Arrays:
    """Multiply each gradient by min(1, clip_norm / (norm + clip_eps))."""
    limit = options.clip_norm
    if limit is None:
        return gradients
    squares = {name: float(np.vdot(gradient, gradient)) for name, gradient in gradients.items()}
    together = math.sqrt(sum(squares.values()))
    norms = {name: together if options.clip == "together" else math.sqrt(square) for name, square in squares.items()}
    scales = {
        name: limit / (norm + options.clip_eps) if norm + options.clip_eps > limit else 1.0 for name, norm in norms.items()
    }
    return {name: gradient * scales[name] for name, gradient in gradients.items()}


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
