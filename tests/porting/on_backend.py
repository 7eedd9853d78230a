"""Canonical checkpoints on one backend, in a process of its own."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import transformer_mb as tmb
from elsewhere import elsewhere, flat, under
from transformer_mb.built_in import BUILT_IN
from transformer_mb.porting.proof.probe import padded_tokens

BACKENDS = tuple(BUILT_IN)


@dataclass(frozen=True)
class Job:
    """A checkpoint and a batch: ``source``, ``source_valid_lens``, and with a decoder ``target``; no steps, no tokens."""

    folder: Path
    batch: dict[str, np.ndarray]
    max_steps: int = 0


def run_on(backend, jobs):
    """By name of each job: ``encoder`` [B, S, D], and with a ``target`` ``logits`` [B, T, V] and ``tokens``, lists of ids."""
    batches = flat({name: job.batch for name, job in jobs.items()})
    described = {name: [job.folder, job.max_steps] for name, job in jobs.items()}
    arrays, _ = elsewhere("porting.on_backend:outputs", batches, name=backend, jobs=described)
    return {name: with_sentences(under(arrays, name)) for name in jobs}


def with_sentences(outputs):
    return {name: sentences(array) if name == "tokens" else array for name, array in outputs.items()}


def sentences(rows):
    """Rows that end in -1 as lists."""
    return [[token for token in row if token >= 0] for row in rows.tolist()]


def outputs(batches, name, jobs):
    backend, found = tmb.get_backend(name), {}
    for job, (folder, max_steps) in jobs.items():
        model, batch = tmb.load(folder, backend=backend), under(batches, job)
        source = batch["source"], batch["source_valid_lens"]
        found[job] = {"encoder": backend.encode(model, *source)}
        if "target" in batch:
            found[job]["logits"] = backend.logits(model, source[0], batch["target"], source[1])
        if "target" in batch and max_steps:
            found[job]["tokens"] = padded_tokens(backend.greedy(model, *source, max_steps), max_steps)
    return flat(found), {}
