"""Small files of the kinds that the pages speak of, which lie in a reader's folder before a page's first command."""

import gzip
import os
import re
import shutil
import subprocess
import sys

from elsewhere import elsewhere
from porting.family_models import with_classifier
from site_pages import DOCS
from transformer_mb.data import demo_pairs

ROOT = DOCS.parent
RESULTS = ROOT / "benchmarks" / "results"
PAIRS, UNSEEN = demo_pairs()[0][:200], demo_pairs()[1][:20]
FILES = re.compile(r"`(\w+\.py)`(?:[^`]|`(?!\w+\.py`)[^`]*`)*?\n\n```python\n(.*?)```", re.DOTALL)
MINE = '''"""A stranger's model and a batch of it."""

import numpy as np
import torch

import transformer_mb as tmb

SIZES = {"num_hiddens": 16, "ffn_num_hiddens": 32, "num_heads": 4}
model = tmb.get_backend("torch").build(tmb.presets.d2l(50, 60, **SIZES), seed=0).eval()
source, lens, target = np.array([[7, 5, 9, 3], [8, 3, 1, 1]]), np.array([4, 2]), np.array([[2, 6, 4, 9], [2, 9, 9, 5]])
'''
SAVED = 'import torch; from mine import model; torch.save(model.state_dict(), "model.pt")'


def lines(pairs):
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def corpus(folder):
    """The whole built-in corpus."""
    for name, some in zip(("pairs.tsv", "test.tsv"), demo_pairs(), strict=True):
        (folder / name).write_text(lines(some))


def multi30k(folder):
    """Files of Multi30k's names, with a few sentences."""
    for name in ("train", "val", "test_2016_flickr"):
        for side, language in enumerate(("en", "de")):
            text = "".join(pair[side] + "\n" for pair in (PAIRS if name == "train" else UNSEEN))
            (folder / f"{name}.{language}.gz").write_bytes(gzip.compress(text.encode()))


def port(folder):
    """The port of the page for agents, file by file."""
    for name, text in FILES.findall((DOCS / "AGENTS.md").read_text()):
        (folder / name).write_text(text)


def results(folder):
    """Write the files that the commands of a comparison leave."""
    for name in ("behaviours.json", "runs.json", "attention.jsonl"):
        shutil.copy(RESULTS / name, folder / name)
    shutil.copy(RESULTS / "parity_cpu.json", folder / "parity.json")


def strangers_model(folder):
    """Code, weights and settings."""
    (folder / "mine.py").write_text(MINE)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:."}
    subprocess.run([sys.executable, "-c", SAVED], cwd=folder, env=environment, check=True)
    (folder / "settings.json").write_text('{"num_heads": 4, "trained_by": "transformer_mb"}')


def bart_folder(folder):
    """As transformers saves it, with its tokenizer."""
    elsewhere("porting.strangers_folder:made", folder=folder / "made", lines=[source for source, _ in PAIRS], name="bart")
    shutil.move(folder / "made" / "bart", folder / "bart-folder")


MAKERS = {
    "pairs.tsv": lambda folder: (folder / "pairs.tsv").write_text(lines(PAIRS)),
    "unseen.tsv": lambda folder: (folder / "unseen.tsv").write_text(lines(UNSEEN)),
    "corpus": corpus,
    "lines.txt": lambda folder: (folder / "lines.txt").write_text("".join(source + "\n" for source, _ in UNSEEN)),
    "mine.py": strangers_model,
    "bert-folder": lambda folder: with_classifier("bert", folder / "bert-folder"),
    "bart-folder": bart_folder,
    "examples": lambda folder: (folder / "examples").symlink_to(ROOT / "examples"),
    "multi30k": multi30k,
    "port": port,
    "results": results,
}
