"""Every variant of MarianMT and BERT that we know of, ported, and the ported folder against ``transformers`` itself."""

import shutil

import numpy as np
import pytest

import transformer_mb as tmb
from elsewhere import elsewhere, under
from porting import hugging_face_sweep as sweep
from porting.small_model import spoil
from transformer_mb.errors import PortError

pytestmark = pytest.mark.long
LIMIT = 1e-5  # of the largest difference, absolute
FAMILIES = ("marian", "bert")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    outputs, _ = elsewhere("porting.hugging_face_sweep:make", timeout=None, place=folder)
    return folder, outputs


def test_the_tables_are_whole():
    assert (len(sweep.RIGHT), len(sweep.REFUSED), len(sweep.OTHERS.split())) == (26, 5, 11)


@pytest.mark.parametrize("name", sweep.RIGHT)
def test_a_variant(name, made, tmp_path, record_property):
    kind = "marian" if name in sweep.MARIAN else "bert"
    folder, outputs = made
    report = tmb.port(folder / name, tmp_path / "out", to="canonical")
    assert report.holds and " on torch " in report.proof.source_ran
    expected, batch = under(outputs, name), sweep.batch(kind)
    backend, model = tmb.get_backend("numpy"), tmb.load(tmp_path / "out")
    source = batch["source"], batch["source_valid_lens"]
    valid = np.arange(13) < batch["source_valid_lens"][:, None]
    got = {"encoder": backend.encode(model, *source)}
    errors = {"encoder": float(np.abs(got["encoder"] - expected["encoder"])[valid].max())}
    if kind == "marian":
        errors["logits"] = float(
            np.abs(backend.logits(model, source[0], batch["target"], source[1]) - expected["logits"]).max()
        )
        rows = [[token for token in row if token >= 0] for row in expected["tokens"].tolist()]
        assert backend.greedy(model, *source, expected["tokens"].shape[1]) == rows
    print(f"{name}: {errors}")
    for output, error in errors.items():
        record_property(output, str(error))
        assert np.abs(expected[output]).max() > 0.5
        assert error <= LIMIT


@pytest.mark.parametrize("name", sweep.REFUSED)
def test_a_clear_refusal(name, made, tmp_path):
    good, changes, words = sweep.REFUSED[name]
    shutil.copytree(made[0] / good, tmp_path / "folder")
    spoil(tmp_path / "folder" / "config.json", **changes)
    with pytest.raises(PortError, match=words) as caught:
        tmb.port(tmp_path / "folder", tmp_path / "out", to="canonical")
    print(f"{name}: {caught.value}")


@pytest.mark.parametrize("name", sweep.OTHERS.split())
def test_another_architecture(name, made, tmp_path):
    for from_, words in ((None, "no family here computes what that does"), *((one, "model_type must be") for one in FAMILIES)):
        with pytest.raises(PortError, match=words) as caught:
            tmb.port(made[0] / name, tmp_path / "out", to="canonical", from_=from_)
        assert repr(name) in str(caught.value) and not (tmp_path / "out").exists()
    print(f"{name}: {caught.value}")
