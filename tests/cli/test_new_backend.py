"""A new backend's package: written whole or not at all, found by its entry point, and the suite says what to fill in."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from transformer_mb.skeleton.package import LAYERS, files

ROOT = Path(__file__).parents[2]


def test_the_files_are_python_that_imports_and_each_body_says_what_to_fill_in(cli, tmp_path):
    outcome = cli("new-backend", "mine", tmp_path / "a" / "package")
    assert outcome.status == 0 and "17 files" in outcome.out
    sources = sorted((tmp_path / "a" / "package").rglob("*.py"))
    assert len(sources) == 15 and {path.stem for path in sources} >= {*LAYERS, "backend", "weights", "trainer", "decoding"}
    said = re.findall(r'NotImplementedError\("fill in (.*?)"\)', "\n".join(path.read_text() for path in sources))
    assert len(said) == len(set(said)) >= 60 and {"MultiHeadAttention.attend", "MineBackend._tensor"} <= set(said)
    project = tomllib.loads((tmp_path / "a" / "package" / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["transformer_mb.backends"] == {"mine": "transformer_mb_mine"}
    assert [path.name for path in tmp_path.rglob("*") if path.name.startswith(".")] == []


def test_the_suite_on_it_fails_with_what_to_fill_in(tmp_path):
    for path, text in files("mine").items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "mine-0.dist-info").mkdir()
    points = "[transformer_mb.backends]\nmine = transformer_mb_mine\n"
    for name, text in (("METADATA", "Metadata-Version: 2.1\nName: mine\nVersion: 0\n"), ("entry_points.txt", points)):
        (tmp_path / "mine-0.dist-info" / name).write_text(text)
    options = [
        "--pyargs",
        "transformer_mb.conformance",
        "--backend",
        "mine",
        "-m",
        "not long",
        "-q",
        "--tb=line",
        "-k",
        "masks",
    ]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and " passed" not in done.stdout, done.stdout
    assert "fill in MineBackend.find_device" in done.stdout


@pytest.mark.parametrize("name", ["My", "1st", "a-b", "", "a b"])
def test_a_name_that_is_none_is_refused(name, fails, tmp_path):
    assert f"must be lower-case letters, digits and _, got {name!r}" in fails("new-backend", name, tmp_path / "new")


def test_a_name_that_is_taken_and_a_folder_that_is_there_are_refused(fails, tmp_path):
    assert "must be none of numpy, torch" in fails("new-backend", "torch", tmp_path / "new")
    assert "must not exist" in fails("new-backend", "mine", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_written_files_are_formatted_as_the_house_is():
    for path, text in files("mine").items():
        if path.endswith(".py"):
            ast.parse(text)
            assert all(len(line) <= 128 for line in text.splitlines()), path


@pytest.mark.long
def test_the_commands_of_the_page_run_in_their_order(tmp_path):
    """All but how pip installs, which is to leave this environment as it is; suite and matrix say what is missing."""
    page = (ROOT / "docs" / "OWN_BACKENDS.md").read_text()
    commands = [line.split() for line in page.splitlines() if re.match(r"    (transformer-mb|pip|pytest) ", line)]
    assert [words[0] for words in commands] == ["transformer-mb", "pip", "pytest", "transformer-mb"]
    assert commands[1][:4] == ["pip", "install", "--editable", "mine_backend"]
    place = tmp_path / "installed"
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(place), "./mine_backend"]
    commands[1] = ["pip", "install", *options]
    modules = {"transformer-mb": "transformer_mb", "pip": "pip", "pytest": "pytest"}
    environment = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
    said = []
    for name, *words in commands:
        words = [word.strip('"') for word in " ".join(words).replace('"not long"', "not-long").split()]
        words = ["not long" if word == "not-long" else word for word in words]
        command = [sys.executable, "-m", modules[name], *words]
        said.append(subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True))
    assert [done.returncode for done in said[:3]] == [0, 0, 1] and said[3].returncode != 0, said[1].stderr + said[3].stderr
    assert "fill in" in said[2].stdout and "fill in MineBackend.find_device" in said[3].stdout + said[3].stderr
