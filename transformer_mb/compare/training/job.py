"""The job that every backend trains, and the same made ready: vocabularies, batches, learning rates, what is held out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from ...batch import Batch
from ...data import Batches, build_vocabularies, pair_ids
from ...errors import DataError
from ...inference.evaluation import normalized
from ...presets import d2l
from ...training.schedules import Span, linear

HELD_OUT = 200  # pairs, decoded as one batch
PAIRS = 3200  # read of a file at most, as many as the built-in corpus has
EVERY = 10  # of a file every tenth distinct source is held out

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """A training small enough for a dozen seeds on six backends, and long enough to learn most of the built-in corpus.

    Model and recipe are the demo's, with two exceptions: dropout and label smoothing, which a comparison of frameworks must
    not leave out. Every batch has the same shape, so that a framework that compiles does so once.

    Args:
        pairs: to learn from. held_out: to measure token accuracy and BLEU with.
        num_hiddens: D; the feed-forward network is twice as wide. num_steps: the width of a batch; longer sentences are cut.
        steps: updates of the weights. warmup_steps: of the learning rate, which then falls linearly to 0.
    """

    name: str
    pairs: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    num_hiddens: int = 64
    num_layers: int = 2
    dropout: float = 0.1
    steps: int = 300
    warmup_steps: int = 50
    batch_size: int = 32
    num_steps: int = 12
    learning_rate: float = 0.005
    label_smoothing: float = 0.1
    clip_norm: float = 1.0
    min_freq: int = 1

    def __post_init__(self) -> None:
        for what, pairs, least in (("pairs", self.pairs, self.batch_size), ("held_out", self.held_out, 1)):
            if len(pairs) < least:
                raise DataError(f"The {what} of a training job must be at least {least}, got {len(pairs)}.")

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> TrainingJob:
        fields = json.loads(text)
        return cls(**{**fields, **{name: _pairs(fields[name]) for name in ("pairs", "held_out")}})

    def described(self) -> dict[str, Any]:
        """Return everything but the sentences, which are counted."""
        return {**asdict(self), "pairs": len(self.pairs), "held_out": len(self.held_out)}


@lru_cache(maxsize=1)
def built_in_job() -> TrainingJob:
    """The demo's corpus."""
    from ...data import demo_pairs

    pairs, unseen = demo_pairs()
    return TrainingJob(name="built-in corpus", pairs=_pairs(pairs), held_out=_pairs(unseen[:HELD_OUT]))


def job_of_file(path: Path) -> TrainingJob:
    """A file's first pairs; every tenth distinct source is held out, with its first translation.

    Raises: DataError for too few of them.
    """
    from ...data import read_pairs

    return split_job(path.name, read_pairs(path, num_examples=PAIRS))


def split_job(name: str, pairs: Sequence[Pair]) -> TrainingJob:
    first: dict[str, str] = {}
    for source, target in pairs:
        first.setdefault(source, target)
    held_out = dict(list(first.items())[EVERY - 1 :: EVERY][:HELD_OUT])
    learned = [pair for pair in pairs if pair[0] not in held_out]
    return TrainingJob(name=name, pairs=_pairs(learned), held_out=tuple(held_out.items()), min_freq=2)


def _pairs(pairs: Sequence[Sequence[str]]) -> tuple[Pair, ...]:
    return tuple((source, target) for source, target in pairs)


EXTRA_STEPS = 4  # that a translation may be longer than a batch is wide


class PreparedJob:
    """A job with its vocabularies and batches, the same in every process: batches follow from the seed too."""

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
        """Yield a batch for each step; the pairs that do not fill an epoch's last batch are left out of that epoch."""
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
