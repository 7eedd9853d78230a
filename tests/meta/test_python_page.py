"""The programs of docs/PYTHON.md run, each section by itself beside a trained model and a file of pairs."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import transformer_mb as tmb
from transformer_mb.data import demo_pairs

PAGE = (Path(__file__).parents[2] / "docs" / "PYTHON.md").read_text()
PROGRAMS = {
    part.splitlines()[0]: "".join(re.findall(r"```python\n(.*?)```", part, re.DOTALL)) for part in PAGE.split("\n## ")[1:]
}
ELSEWHERE = ("Train",)  # it makes its model itself: the last test here runs it
TRAINED_ON, UNSEEN = demo_pairs()[0][:24], demo_pairs()[1][:10]


@pytest.mark.parametrize("section", [name for name in PROGRAMS if name not in ELSEWHERE])
def test_a_section_of_the_page_runs(section, trained, data, tmp_path):
    assert PROGRAMS[section]
    shutil.copytree(trained, tmp_path / "model")
    shutil.copy(data, tmp_path / "pairs.tsv")
    done = subprocess.run([sys.executable, "-c", PROGRAMS[section]], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_every_public_name_is_on_the_page():
    assert not [name for name in tmb.__all__ if f"`tmb.{name}" not in PAGE]


def test_the_section_on_training_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, pairs in (("pairs.tsv", TRAINED_ON), ("unseen.tsv", UNSEEN)):
        Path(name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    train_part = PAGE.partition("## Train")[2]
    namespace: dict = {}
    exec(re.findall(r"```python\n(.*?)```", train_part, re.DOTALL)[0], namespace)
    assert len(namespace["longer"].history) == 3 and "24 pairs; " in capsys.readouterr().out
