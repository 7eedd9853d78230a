"""A run: what is asked for, how a backend trains it, and what is measured of it."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ...backend import Backend
from ...batch import Batch
from ...checkpoint import Checkpoint, write_checkpoint
from ...config import TransformerConfig
from ...dropout_masks import dropout_masks
from ...inference.evaluation import bleu
from ...initialization import initial_weights
from ...trainer import Trainer
from .job import EXTRA_STEPS, PreparedJob
from .switches import check_switches, own_part

SMOOTHED = 10  # steps whose mean loss is held against the threshold


@dataclass(frozen=True)
class Asked:
    """A run to do: ``own`` are the switches that are the framework's own."""

    seed: int
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Run:
    """Figures measured in one run.

    Attributes:
        column: the label of its column; version: of the framework. own: the switches that were the framework's own.
        losses: of every step, per token. token_accuracy, bleu: on the held-out pairs.
        first_step: seconds, with whatever is compiled then; None where an earlier run had it compiled.
        tokens_per_second: target tokens, of the other steps. decoded_per_second: tokens of greedy decoding.
        peak_memory: bytes that the process has held at most so far. checkpoint: bytes of the saved model.
        user_seconds: processor time of the run.
    """

    column: str
    version: str
    seed: int
    own: tuple[str, ...]
    losses: tuple[float, ...]
    token_accuracy: float
    bleu: float
    first_step: float | None
    tokens_per_second: float
    decoded_per_second: float
    peak_memory: int
    checkpoint: int
    user_seconds: float

    @property
    def final_loss(self) -> float:
        """The mean over the last tenth of the steps."""
        return float(np.mean(self.losses[-max(1, len(self.losses) // 10) :]))

    @property
    def first_loss(self) -> float:
        return float(np.mean(self.losses[:SMOOTHED]))

    @property
    def mean_log_loss(self) -> float:
        return float(np.mean(np.log(self.losses)))

    def steps_to(self, threshold: float) -> int:
        """Return after how many steps the mean of the last ten losses is no more than this; one more than there are: never."""
        width = min(SMOOTHED, len(self.losses))
        smoothed = np.convolve(self.losses, np.full(width, 1.0 / width), mode="valid")
        reached = np.flatnonzero(smoothed <= threshold)
        return int(reached[0]) + width if len(reached) else len(self.losses) + 1

    def parts_from(self, other: Run, tolerance: float = 1e-3) -> int:
        """The first step whose losses differ by more than this share; one more than there are: never."""
        apart = np.flatnonzero(~np.isclose(self.losses, other.losses, rtol=tolerance, atol=0.0))
        return int(apart[0]) + 1 if len(apart) else len(self.losses) + 1

    def recorded(self, threshold: float) -> dict[str, Any]:
        """Return everything but the losses of the single steps."""
        fields = {name: value for name, value in vars(self).items() if name != "losses"}
        measured = {name: measure(self, threshold) for name, measure in METRICS.items()}
        return {**fields, "own": list(self.own), **measured}


# The measures that are judged.
METRICS = {
    "final loss": lambda run, threshold: run.final_loss,
    "mean log loss": lambda run, threshold: run.mean_log_loss,
    "steps to threshold": lambda run, threshold: float(run.steps_to(threshold)),
    "token accuracy": lambda run, threshold: run.token_accuracy,
    "BLEU": lambda run, threshold: run.bleu,
}


class Runner:
    """Trains and measures.

    Args:
        backend: where; column: what its runs are called.
        prepared: the job.
    """

    def __init__(self, backend: Backend, column: str, prepared: PreparedJob):
        self.backend, self.column, self.prepared = backend, column, prepared
        self.kept: list[tuple[TransformerConfig, Any, Trainer, dict[str, np.ndarray]]] = []
        self.checkpoint_bytes = 0

    def run(self, asked: Asked) -> Run:
        """Train once. Raises ConfigError for a switch that the framework has nothing of its own for."""
        began = os.times().user
        own = check_switches(asked.own)
        config = self.config(own)
        model, trainer, compiled = self.trainer(config, own, asked.seed)
        self.backend.set_weights(model, self._initial_weights(config, own, asked.seed))
        # Numbers that are not finite are a result here; NumPy would print warnings with paths.
        with np.errstate(all="ignore"):
            losses, seconds, tokens = self._train(config, trainer, own, asked.seed)
            measured = self.evaluate(model)
        return Run(
            column=self.column,
            version=self.backend.version(),
            seed=asked.seed,
            own=tuple(sorted(own)),
            losses=tuple(losses),
            first_step=None if compiled else seconds[0],
            tokens_per_second=sum(tokens[1:]) / max(sum(seconds[1:]), 1e-9),
            peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024),
            checkpoint=self._checkpoint_bytes(config, model),
            user_seconds=os.times().user - began,
            **measured,
        )

    def config(self, own: frozenset[str]) -> TransformerConfig:
        if "epsilon" not in own:
            return self.prepared.config
        return self.prepared.config.replace(norm_eps=own_part(self.backend.name, "norm_epsilon")())

    def _initial_weights(self, config: TransformerConfig, own: frozenset[str], seed: int) -> Mapping[str, np.ndarray]:
        if "init" in own:
            return own_part(self.backend.name, "initial_weights")(self.backend, config, seed)
        return initial_weights(config, seed)

    def trainer(self, config: TransformerConfig, own: frozenset[str], seed: int) -> tuple[Any, Trainer, bool]:
        """A model and its trainer at the start, and whether they are those of an earlier run, whose steps are compiled.

        A framework's own optimizer has no state that could be set back, and its own dropout follows the trainer's seed.
        """
        again = not own & {"dropout", "optimizer"}
        for kept, model, trainer, start in self.kept:
            if again and kept == config:
                trainer.load_state_dict(start)
                return model, trainer, True
        model = self.backend.create_empty(config)
        trainer = self.backend.trainer(model, **self.prepared.options, seed=seed)
        if "optimizer" in own:
            own_part(self.backend.name, "use_own_adam")(trainer)
        if again:
            self.kept[:] = [(config, model, trainer, _copied(trainer.state_dict()))]
        return model, trainer, False

    def _train(
        self, config: TransformerConfig, trainer: Trainer, own: frozenset[str], seed: int
    ) -> tuple[list[float], list[float], list[int]]:
        """The losses of all steps, the seconds that each took, and its target tokens."""
        losses, seconds, tokens = [], [], []
        for count, batch in enumerate(self.prepared.batches(seed), 1):
            masks = None if "dropout" in own else _masks(config, seed, count - 1, batch)
            trainer.learning_rate = trainer.options.learning_rate * self.prepared.rate(count)
            start = perf_counter()
            losses.append(float(trainer.step(batch, masks)))
            seconds.append(perf_counter() - start)
            tokens.append(batch.num_tokens)
        return losses, seconds, tokens

    def evaluate(self, model: Any) -> dict[str, float]:
        prepared, batch = self.prepared, self.prepared.held_out
        logits = self.backend.logits(model, batch.source, batch.target_in, batch.source_valid_lens)
        start = perf_counter()
        limit = prepared.job.num_steps + EXTRA_STEPS
        found = self.backend.greedy(model, batch.source, batch.source_valid_lens, limit)
        seconds = perf_counter() - start
        return {
            "token_accuracy": prepared.token_accuracy(logits),
            "bleu": bleu([prepared.vocabularies[1].decode(ids) for ids in found], prepared.references).value,
            "decoded_per_second": sum(len(ids) for ids in found) / max(seconds, 1e-9),
        }

    def _checkpoint_bytes(self, config: TransformerConfig, model: Any) -> int:
        """Saved once: every run's has the same size."""
        if not self.checkpoint_bytes:
            with tempfile.TemporaryDirectory() as folder:
                saved = Path(folder) / "model"
                write_checkpoint(saved, Checkpoint(config=config, weights=self.backend.get_weights(model)))
                self.checkpoint_bytes = sum(path.stat().st_size for path in saved.rglob("*") if path.is_file())
        return self.checkpoint_bytes


def _copied(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.array(value) for name, value in state.items()}


def _masks(config: TransformerConfig, seed: int, step: int, batch: Batch) -> dict[str, np.ndarray]:
    return dropout_masks(config, seed, step, len(batch.target_in), batch.source.shape[1], batch.target_in.shape[1])
