"""Every container of transformers 4.57, as TensorFlow, flax and torch saved it there, read here: what each computed itself.

``make stranded`` makes the environment (see ``stranded/make.py``). All weights are drawn; its outputs are float32.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from porting.small_model import on_numpy
from transformer_mb.porting.files.sources import read_source

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "build" / "stranded" / "bin" / "python"
MAKE = ROOT / "tests" / "porting" / "stranded" / "make.py"
FAMILIES = (
    *("marian", "bert", "bart", "mbart", "pegasus", "blenderbot"),
    *("roberta", "xlm-roberta", "distilbert", "gpt2", "opt", "t5", "mt5"),
)
PINS = dict(line.split("==") for line in (MAKE.parent / "requirements.txt").read_text().split("\n") if "==" in line)


@pytest.mark.long
def test_the_environment_has_what_is_pinned():
    """So that a folder made a year from now is what was compared; tf_keras is in the Makefile, without its TensorFlow."""
    if not PYTHON.exists():
        pytest.skip("make stranded makes the environment of transformers 4.57, which is not there")
    asked = [*PINS, "tf_keras"]
    program = f"from importlib.metadata import version; print(*map(version, {asked}))"
    found = subprocess.run([PYTHON, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    found = dict(zip(asked, (one.partition("+")[0] for one in found), strict=True))
    assert (
        found.pop("tf_keras") == PINS["tensorflow-cpu"]
        and f"tf_keras=={PINS['tensorflow-cpu']}" in (ROOT / "Makefile").read_text()
    )
    assert found == PINS and PINS["transformers"].startswith("4.57.")


def test_every_pin_is_exact():
    listed = [line for line in (MAKE.parent / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(listed) == len(PINS) and not [line for line in listed if "*" in line or " " in line or "," in line]


@pytest.fixture(scope="module", params=["tensorflow", "flax", "torch"])
def made(request, tmp_path_factory):
    """The folders of one framework, by family, whole and in shards."""
    if not PYTHON.exists():
        pytest.skip("make stranded makes the environment of transformers 4.57, which is not there")
    folder = tmp_path_factory.mktemp("stranded")
    subprocess.run([PYTHON, MAKE, folder, request.param, *FAMILIES], check=True, env={"PATH": "/usr/bin:/bin"})
    return folder / request.param


@pytest.mark.long
@pytest.mark.parametrize("shards", ["", "-shards"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_outputs_are_those_of_the_library_that_saved_it(family, shards, made):
    expected = dict(np.load(made / family / "outputs.npz"))
    model = read_source(made / f"{family}{shards}", None, {}).model
    batch = {name: expected[name] for name in ("source", "source_valid_lens", "target") if name in expected}
    batch = batch if model.config.has_encoder else {"target": expected["source"]}
    got = on_numpy(model, batch, dtype="float64")
    read = np.arange(expected["source"].shape[1]) < expected["source_valid_lens"][:, None]
    compared = {name: expected[name] for name in ("encoder", "logits") if name in expected and name in got}
    assert compared
    for name, array in compared.items():
        error = np.abs(got[name] - array)
        assert (error[read] if name == "encoder" else error).max() <= 1e-5 * np.abs(array).max()
