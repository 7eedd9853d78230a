"""Load examples' checkpoints with one backend in float64, and compare logits and decoded tokens with the NumPy reference's.

    python examples/check.py --reference FOLDER...                          writes reference.npz beside each checkpoint
    TRANSFORMER_MB_BACKEND=jax python examples/check.py FOLDER...        compares with it

Status 1 when one differs by more than the parity matrix allows a whole model in float64.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import transformer_mb as tmb
from transformer_mb.parity.verdict.limits import error

LIMIT = 1e-11


def outputs(backend: Any, folder: Path) -> tuple[np.ndarray, list[list[int]]]:
    """The probe's logits, and the tokens decoded from it (of a decoder alone, what follows the first three of its targets)."""
    probe = json.loads((folder / "probe.json").read_text(encoding="utf-8"))
    model = tmb.load(folder / "checkpoint", backend)
    source = None if probe["source"] is None else np.array(probe["source"])
    lengths = None if source is None else np.array(probe["source_valid_lens"])
    target = np.array(probe["target_in"])
    logits = backend.logits(model, source, target, lengths)
    tokens = backend.greedy(model, target[:, :3] if source is None else source, lengths, probe["max_steps"])
    return logits, tokens


def compare(backend: Any, folder: Path) -> bool:
    logits, tokens = outputs(backend, folder)
    reference = np.load(folder / "reference.npz", allow_pickle=False)
    expected = reference["logits"]
    apart = error(logits, expected)
    same = json.dumps(tokens) == str(reference["tokens"])
    held = same and apart <= LIMIT
    print(
        f"{'holds' if held else 'MISSED'}: {folder.as_posix()} on {backend.name}: logits {apart:.1e} from the reference, "
        f"{sum(map(len, tokens))} decoded tokens {'the same' if same else 'differ'}",
        flush=True,
    )
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--reference", action="store_true", help="make what the others are compared with, on NumPy")
    options = parser.parse_args()
    if options.reference:
        backend = tmb.get_backend("numpy", dtype="float64")
        for folder in options.folders:
            logits, tokens = outputs(backend, folder)
            np.savez(folder / "reference.npz", logits=logits, tokens=np.array(json.dumps(tokens)))
        return
    backend = tmb.get_backend(dtype="float64")
    held = [compare(backend, folder) for folder in options.folders]
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
