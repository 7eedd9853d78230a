"""Count the package's own functions and files that four uses enter, workers included.

    python tools/walks/count.py [--json FILE] [--list]

A cell through ``parity``, a .pt file through ``port``, a line through ``translate``, a batch through ``train``. What is only
imported is not counted: bodies of modules and classes, and what they call. A comprehension is part of its function.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
PAIRS = "go .\tva !\nrun .\tcours !\nwait .\tattends .\nstop .\tarrete .\n"
SIZES = ("--num-hiddens", "8", "--ffn-num-hiddens", "12", "--num-heads", "2", "--num-layers", "1")
TRAIN = ("train", "--backend", "torch", "--data", "pairs.tsv", *SIZES, "--batch-size", "4", "--epochs", "1", "--min-freq", "1")
# What is prepared, then what is walked, by name.
WALKS = {
    "parity": ("parity", "--backends", "torch", "--cases", "layer forward: layer norm [float32]*"),
    "port": ("port", "model.pt", "ported", "--to", "canonical", "--config", "config.json"),
    "translate": ("translate", "model", "--input", "line.txt"),
    "train": (*TRAIN, "--out", "another"),
}
PREPARED = ((*TRAIN, "--out", "model"), ("port", "model", "model.pt", "--to", "torch"))


def run(folder, command, record=None):
    """Run the command there; ``record``: a folder for what each of its processes enters."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if record:
        environment |= {"PYTHONPATH": f"{ROOT / 'tools' / 'walks' / 'recorder'}:{ROOT}", "WALK_INTO": str(record)}
    call = [sys.executable, "-m", "transformer_mb", *command]
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} must end with 0, got {done.returncode}:\n{done.stdout}{done.stderr}")


def entered(record):
    """Return the (file, function) pairs of all processes."""
    return {tuple(line.split("\t")) for path in record.iterdir() for line in path.read_text().splitlines()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", help="Write every function that was entered here.")
    asked = parser.parse_args()
    found = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pairs.tsv").write_text(PAIRS)
        (folder / "line.txt").write_text("go .\n")
        for command in PREPARED:
            run(folder, command)
        (folder / "config.json").write_text(json.dumps({"num_heads": 2}))
        for walk, command in WALKS.items():
            record = folder / f"record of {walk}"
            record.mkdir()
            run(folder, command, record)
            found[walk] = entered(record)
    print(f"{'':10} functions  files  rooms")
    for walk, pairs in found.items():
        files = {path for path, _ in pairs}
        rooms = {os.path.dirname(path) for path in files}
        print(f"{walk:10} {len(pairs):9} {len(files):6} {len(rooms):6}")
    if asked.json:
        Path(asked.json).write_text(json.dumps({walk: sorted(pairs) for walk, pairs in found.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
