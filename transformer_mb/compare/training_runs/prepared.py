"""A job made ready for a backend: vocabularies, batches, learning rates, and what is held out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import numpy as np

from ...batch import Batch
from ...data import Batches, build_vocabularies, pair_ids
from ...inference.evaluation import normalized
from ...presets import d2l
from ...training.schedules import Span, linear
from .job import TrainingJob

EXTRA_STEPS = 4  # that a translation may be longer than a batch is wide


class PreparedJob:
    """The same in every process: it follows from the job alone, and batches from the seed too."""

    def __init__(self, job: TrainingJob):
        self.job = job
        self.vocabularies = build_vocabularies(job.pairs, "d2l", min_freq=job.min_freq)
        self.config = d2l(
            *map(len, self.vocabularies),
            num_hiddens=job.num_hiddens,
            ffn_num_hiddens=2 * job.num_hiddens,
            num_layers=job.num_layers,
            tie_output=True,
            dropout=job.dropout,
            max_len=job.num_steps + EXTRA_STEPS,
        )
        self.options: dict[str, Any] = {
            "learning_rate": job.learning_rate,
            "label_smoothing": job.label_smoothing,
            "clip_norm": job.clip_norm,
            "normalization": "tokens",
        }
        self._ids = pair_ids(job.pairs, *self.vocabularies)
        held_out = pair_ids(job.held_out, *self.vocabularies)
        (self.held_out,) = Batches(held_out, len(held_out), num_steps=job.num_steps, shuffle=False).epoch(0)
        self.references = [target for _, target in normalized(job.held_out, *self.vocabularies)]

    def batches(self, seed: int) -> Iterator[Batch]:
        """One for each step; the pairs that do not fill an epoch's last batch are left out of that epoch."""
        batches = Batches(self._ids, self.job.batch_size, seed, num_steps=self.job.num_steps)
        whole = (batch for epoch in count() for batch in batches.epoch(epoch) if len(batch.target_in) == self.job.batch_size)
        return islice(whole, self.job.steps)

    def rate(self, step: int) -> float:
        """The share of the learning rate that a step has; the first step is 1."""
        return linear(step, Span(self.job.warmup_steps, self.job.steps, self.job.num_hiddens))

    def token_accuracy(self, logits: np.ndarray) -> float:
        """The share of the held-out tokens, <eos> counted, that have the largest of the logits [B, T, V]."""
        batch = self.held_out
        counted = np.arange(batch.target_out.shape[1]) < batch.target_valid_lens[:, None]
        return float(((logits.argmax(axis=-1) == batch.target_out) & counted).sum() / counted.sum())
