"""A job's folder as a contestant reads it; it needs NumPy alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

BATCH = ("source", "source_valid_lens", "target_in", "target_out", "target_valid_lens")


class Inputs:
    """``config`` and ``options`` are dictionaries, ``weights`` arrays by canonical name; the rest is the job's own."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.job = json.loads((self.folder / "job.json").read_text())
        self.config, self.options = self.job["config"], self.job["options"]
        with np.load(self.folder / "arrays.npz") as arrays:
            self.arrays = {name: array for name, array in arrays.items() if not name.startswith("weights/")}
            self.weights = {name.removeprefix("weights/"): arrays[name] for name in arrays if name.startswith("weights/")}

    @property
    def batches(self):
        """Tuples in the order of BATCH."""
        return list(zip(*(self.arrays[name] for name in BATCH), strict=True))

    @property
    def target_tokens(self):
        return int(self.arrays["target_valid_lens"].sum())
