"""``examples/check.py``: a checkpoint on another backend, and that a wrong one is found out."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file


@pytest.fixture(scope="module")
def trained(python, tmp_path_factory):
    """The walk-through's checkpoint, and what the reference says of it."""
    folder = tmp_path_factory.mktemp("english_chinese")
    python("-m", "english_chinese", "--out", folder)
    python("-m", "check", "--reference", folder)
    return folder


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_a_checkpoint_is_the_same_model_elsewhere(python, trained, backend):
    done = python("-m", "check", trained, backend=backend)
    # Both sentences, 5 and 8 characters, are learned by heart with each of ten seeds.
    assert done.stdout.startswith("holds: ") and f"on {backend}: logits" in done.stdout and "13 decoded tokens" in done.stdout


def test_one_wrong_weight_is_found(python, trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "wrong")
    weights = load_file(folder / "checkpoint" / "model.safetensors")
    weights["encoder.blks.block0.attention.W_q.weight"][0, 0] += np.float32(1e-3)
    save_file(weights, folder / "checkpoint" / "model.safetensors")
    assert python("-m", "check", folder, status=1).stdout.startswith("MISSED: ")


def test_the_arguments_of_the_run_are_checked(python, tmp_path):
    done = python("-m", "run", tmp_path / "nonesuch.tsv", status=2)
    assert "there is no file" in done.stderr
    (tmp_path / "pairs.tsv").write_text("go .\tva !\n")
    assert "--train must be one of numpy" in python("-m", "run", tmp_path / "pairs.tsv", "--train", "caffe", status=2).stderr
