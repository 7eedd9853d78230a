"""What Python shows of the package: its public names, the names of backends, and what objects say of themselves."""

import json
import subprocess
import sys

import pytest

import transformer_mb as tmb
from transformer_mb import registry
from transformer_mb.errors import BackendError

SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "max_len": 7}


@pytest.fixture(scope="module")
def backend():
    return tmb.get_backend("numpy")


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(tmb.presets.d2l(10, 12, **SMALL))


@pytest.fixture(scope="module")
def translator(trained):
    return tmb.Translator.load(trained)


def test_backend_translator_batches_and_vocabulary_say_what_they_are(backend, model, translator):
    source, target = len(translator.source_vocabulary), len(translator.target_vocabulary)
    assert repr(backend) == "NumPyBackend(device='cpu', dtype='float32')"
    assert repr(translator) == (
        f"Translator(numpy, cpu, float32: {source} source tokens, {target} target tokens, lines of at most 29)"
    )
    batches = tmb.Batches([([4], [5, 6]), ([4, 4], [5]), ([7], [8])], batch_size=2)
    assert repr(batches) == "Batches(2 of batch_size 2, num_pairs 3, num_tokens 7)"
    assert repr(translator.target_vocabulary) == f"Vocabulary({target} tokens, pipeline d2l)"


def test_dir_shows_public_names_alone():
    code = "import transformer_mb as tmb; print(*dir(tmb)); print(*dir(tmb.presets))"
    top, presets = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert set(top.split()) == {"__version__", *tmb.__all__} and {"Translator", "Vocabulary", "Batches"} <= set(top.split())
    assert set(presets.split()) == {"ARCHITECTURES", "PRESETS", "RECIPES", *tmb.presets.PRESETS}
    assert all(getattr(tmb, name) is not None for name in tmb.__all__)


@pytest.mark.parametrize("name", ["NumPy", "np", "NUMPY", "numpy"])
def test_a_backend_by_the_names_that_people_use(name, cli, trained, settings_file, tmp_path):
    assert tmb.get_backend(name).name == "numpy"
    if name == "np":  # what is recorded is its one name
        assert cli("train", settings_file, "--epochs", 1, "--backend", name, "--out", tmp_path / "model").status == 0
        assert json.loads((tmp_path / "model" / "trainer.json").read_text())["data"]["run"]["backend"] == "numpy"


def test_every_other_name_of_a_backend_means_one_that_is_there():
    assert set(registry.OTHER_NAMES.values()) == set(registry.BUILT_IN) and not set(registry.OTHER_NAMES) & set(
        registry.BUILT_IN
    )
    for given, canonical in {
        "Torch": "torch",
        "pytorch": "torch",
        "keras": "tensorflow",
        "flax": "jax",
        "MXNet": "mxnet",
    }.items():
        assert registry.canonical_name(given) == canonical
    for given, meant in (("troch", "torch"), ("tensorfow", "tensorflow"), ("kears", "tensorflow")):
        with pytest.raises(BackendError, match=f"must be one of numpy, .*, got '{given}'. Did you mean {meant}?"):
            tmb.get_backend(given)
    with pytest.raises(BackendError, match=r"got 'caffe'\.$"):
        tmb.get_backend("caffe")
