"""Canonical checkpoints on one backend, in a process of its own: ``run_on`` starts it, the script is its other end."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

BACKENDS = ("numpy", "torch", "tensorflow", "paddle", "mxnet", "jax")


@dataclass(frozen=True)
class Job:
    """A checkpoint and a batch: ``source``, ``source_valid_lens``, and with a decoder ``target``; no steps, no tokens."""

    folder: Path
    batch: dict[str, np.ndarray]
    max_steps: int = 0


def run_on(backend, jobs, place):
    """By name of each job: ``encoder`` [B, S, D], and with a ``target`` ``logits`` [B, T, V] and ``tokens``, lists of ids."""
    described = {name: [str(job.folder), str(place / f"{name}.npz"), job.max_steps] for name, job in jobs.items()}
    for name, job in jobs.items():
        np.savez(place / f"{name}.npz", **job.batch)
    command = [sys.executable, __file__, backend, json.dumps(described)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, f"{backend}: {done.stderr[-3000:]}"
    found = {}
    for name in jobs:
        with np.load(place / f"{name}.npz.out.npz") as outputs:
            found[name] = dict(outputs)
        if "tokens" in found[name]:
            found[name]["tokens"] = sentences(found[name]["tokens"])
    return found


def sentences(rows):
    """Rows that end in -1 as lists."""
    return [[token for token in row if token >= 0] for row in rows.tolist()]


def main(name, jobs):
    import transformer_mb as tmb
    from transformer_mb.porting.proof.probe import padded_tokens

    backend = tmb.get_backend(name)
    for folder, arrays, max_steps in json.loads(jobs).values():
        model = tmb.load(folder, backend=backend)
        with np.load(arrays) as given:
            batch = dict(given)
        source = batch["source"], batch["source_valid_lens"]
        found = {"encoder": backend.encode(model, *source)}
        if "target" in batch:
            found["logits"] = backend.logits(model, source[0], batch["target"], source[1])
        if "target" in batch and max_steps:
            found["tokens"] = padded_tokens(backend.greedy(model, *source, max_steps), max_steps)
        np.savez(f"{arrays}.out.npz", **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
