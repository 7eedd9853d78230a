"""The programs of the pages on Python, text and training run, each section by itself beside a model and a file of pairs."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import transformer_mb as tmb
from transformer_mb.data import demo_pairs

DOCS = Path(__file__).parents[2] / "docs"
PAGE, TRAINING = (DOCS / "PYTHON.md").read_text(), (DOCS / "TRAINING.md").read_text()
PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)
PROGRAMS = {
    part.splitlines()[0]: "".join(found)
    for page in (PAGE, *((DOCS / name).read_text() for name in ("TEXT.md", "VARIANTS.md")))
    for part in page.split("\n## ")[1:]
    if (found := PROGRAM.findall(part))
}
TRAINED_ON, UNSEEN = demo_pairs()[0][:24], demo_pairs()[1][:10]


@pytest.mark.parametrize("section", PROGRAMS)
def test_a_section_of_the_page_runs(section, trained, data, tmp_path):
    shutil.copytree(trained, tmp_path / "model")
    shutil.copy(data, tmp_path / "pairs.tsv")
    done = subprocess.run([sys.executable, "-c", PROGRAMS[section]], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_every_public_name_is_on_the_page():
    assert not [name for name in tmb.__all__ if f"`tmb.{name}" not in PAGE]


def test_the_program_on_training_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, pairs in (("pairs.tsv", TRAINED_ON), ("unseen.tsv", UNSEEN)):
        Path(name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    namespace: dict = {}
    exec(PROGRAM.findall(TRAINING)[0], namespace)
    assert len(namespace["longer"].history) == 3 and "24 pairs; " in capsys.readouterr().out
