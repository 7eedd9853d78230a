"""Weights trained with the German-English notes' code, whose positions go by token id, run here unchanged."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_position_table_folds_into_the_embeddings():
    command = [sys.executable, str(Path(__file__).with_name("published_notes.py"))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    folded, true_positions = map(float, done.stdout.split())
    assert folded < 1e-12
    assert true_positions > 0.1  # the test can tell the two apart
