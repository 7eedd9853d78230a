"""The library's outputs beside a backend's: the largest relative error, and which tokens are others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from transformer_mb.columns.one_shot import call
from transformer_mb.errors import WorkerError

from .library import SEARCHES

LIMIT = 1e-12  # of an output's difference, relative to its norm
ALONE = {"USE_TORCH": "1", "USE_TF": "0", "USE_FLAX": "0"}  # else transformers 4 imports TensorFlow beside PyTorch
PLACE = Path(__file__).parents[1]


def elsewhere(
    function: str, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Call a function of this folder in a process of its own."""
    path = os.pathsep.join([str(PLACE), str(PLACE.parent), os.environ.get("PYTHONPATH", "")])
    environment = {"PYTHONPATH": path, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return call(f"families.{function}", arrays, facts, name=function, environment=environment, timeout=None)


def made(
    folder: Path, models: Mapping[str, Any], seed: int = 0, python: str = ""
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Make the folders and return what the library computes, with its versions.

    ``python``: an interpreter with another version of the library; "" is this one.
    """
    with tempfile.TemporaryDirectory() as place:
        asked, arrays = Path(place) / "asked.json", Path(place) / "arrays.npz"
        asked.write_text(json.dumps({"folder": str(folder), "models": models, "seed": seed}))
        command = [python or sys.executable, "-m", "families.library", str(asked), str(arrays)]
        environment = {**os.environ, "PYTHONPATH": str(PLACE), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", **ALONE}
        process = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, errors="replace")
        if process.returncode:
            raise WorkerError(f"The library's process must make the folders, but it ended so: {process.stderr[-2000:]}")
        with np.load(arrays) as found:
            return dict(found), json.loads(process.stdout.splitlines()[-1])


def compared(backend: str, folder: Path, models: list[str], expected: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Run every model's port on a backend and compare; returns by name ``errors`` of each output and differing ``tokens``."""
    batches = {name: array for name, array in expected.items() if "/batch." in name}
    start = time.perf_counter()
    got, facts = elsewhere("ours:run_ports", batches, {"backend": backend, "folder": str(folder), "models": models})
    rows = {name: differences(_of(expected, name), _of(got, name)) for name in models}
    return {"version": facts["version"], "seconds": round(time.perf_counter() - start, 1), "models": rows}


def _of(arrays: Mapping[str, np.ndarray], model: str) -> dict[str, np.ndarray]:
    found = {key.removeprefix(f"{model}/"): array for key, array in arrays.items() if key.startswith(f"{model}/")}
    return {key: array for key, array in found.items() if not key.startswith("batch.")}


def differences(expected: Mapping[str, np.ndarray], got: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Compare what one model gives; an output that one side lacks counts as infinitely wrong."""
    errors: dict[str, float] = {}
    tokens: dict[str, int] = {}
    for name in sorted({*expected, *got}):
        if name not in expected or name not in got or expected[name].shape != got[name].shape:
            errors[name] = float("inf")
        elif name in SEARCHES:
            tokens[name] = int((expected[name] != got[name]).any(axis=1).sum())
        else:
            error = np.linalg.norm(got[name] - expected[name]) / np.linalg.norm(expected[name])
            errors[name] = float(error) if np.isfinite(error) else float("inf")
    return {"errors": errors, "tokens": tokens}


def holds(row: Mapping[str, Any]) -> bool:
    """Tell whether a model's outputs are the library's: within the limit, and the same tokens."""
    errors = row["errors"].values()
    return bool(errors) and all(error <= LIMIT for error in errors) and not any(row["tokens"].values())
