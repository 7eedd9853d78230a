"""Checkpoints that other code has made and saved by itself, each made once, in a process of its own."""

import importlib.util
import shutil
import sys
from functools import cache
from pathlib import Path

import pytest

import transformer_mb as tmb
from elsewhere import elsewhere
from porting import hugging_face
from porting.demo_model import make_demo
from porting.small_model import BIASES, CONFIG, FEW, built
from transformer_mb.porting.families import FAMILIES
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.files.targets import find_target, write_target
from transformer_mb.porting.formats import FORMATS

CONTAINERS = ["npz", "safetensors", "mxnet", "paddle", "flax", "keras"]  # that no framework is needed to write
FRAMEWORKS = {"torch", "tensorflow", "keras", "paddle", "mxnet", "jax", "flax", "transformers"}


@pytest.fixture(scope="module", autouse=True)
def no_framework_here():
    """Every framework runs in a process of its own: porting imports none here, whatever other tests of this process did."""
    before = set(sys.modules)
    yield
    assert not FRAMEWORKS & (set(sys.modules) - before)


@pytest.fixture(scope="session")
def trained_on(tmp_path_factory):
    """By backend: a folder with ``canonical`` and that framework's own files (see ``train_natively``)."""

    @cache
    def make(backend):
        folder = tmp_path_factory.mktemp(backend)
        elsewhere("porting.train_natively:train", name=backend, folder=folder)
        return folder

    return make


@pytest.fixture
def copied(trained_on, tmp_path) -> Path:
    """A trained checkpoint without vocabularies, to be spoilt."""
    return shutil.copytree(trained_on("numpy") / "canonical", tmp_path / "copied")


@pytest.fixture(scope="session")
def stacks_made(tmp_path_factory):
    """By module of ``porting`` and framework: a folder with the stacks that it saves, and what they compute."""

    @cache
    def make(module, framework):
        folder = tmp_path_factory.mktemp(f"{module}_{framework}")
        elsewhere(f"porting.{module}:save_{framework}", folder=folder)
        return folder

    return make


@pytest.fixture(scope="session")
def good(trained_on, tmp_path_factory):
    """A good file of each format."""
    folder = tmp_path_factory.mktemp("good")
    model = read_source(trained_on("numpy") / "canonical", None, {}).model
    for name in CONTAINERS:
        write_target(model, find_target(name), folder / name, {})
    stacks = built(tmb.presets.d2l(11, 13, **FEW, **BIASES, final_norm=True))
    native = FAMILIES["torch_transformer"].write(stacks, "safetensors", {})
    FORMATS["safetensors"].write(folder / "stacks", native)
    return folder


@pytest.fixture(scope="session")
def d2l_made(tmp_path_factory):
    """By framework: a folder with a file of D2L's own model and its logits (see ``d2l_models``)."""
    if importlib.util.find_spec("d2l") is None:  # it is not imported here: it would bring its framework along
        pytest.skip("the d2l package is not installed (`make test` installs it)")

    @cache
    def make(framework):
        folder = tmp_path_factory.mktemp(f"d2l_{framework}")
        elsewhere("porting.d2l_models:make_models", framework=framework, folder=folder)
        return folder

    return make


@pytest.fixture(scope="session")
def references(tmp_path_factory):
    """What ``transformers`` makes of the MarianMT variants, and of MiniLM where its package and the captions are there."""
    minilm, data = hugging_face.minilm_folder(), hugging_face.shared_folder()
    captions = None if data is None else hugging_face.real_sentences(data)
    return hugging_face.make_references(tmp_path_factory.mktemp("transformers"), minilm, captions)


@pytest.fixture(scope="session")
def written(references, tmp_path_factory):
    """The variants of MarianMT as we write them, run by ``transformers``; and a small BERT."""
    return hugging_face.run_written(references, tmp_path_factory.mktemp("written"))


@pytest.fixture(scope="session")
def on_backend(references, tmp_path_factory):
    """By name of a backend: what it makes of the same models."""
    return cache(lambda name: hugging_face.run_all_on(name, references, tmp_path_factory.mktemp(name)))


@pytest.fixture(scope="session")
def demo():
    """A model of the built-in corpus and what it makes of 500 unseen sentences."""
    return make_demo()


@pytest.fixture
def small(tmp_path) -> Path:
    """A checkpoint without vocabularies."""
    tmb.save(tmb.get_backend("numpy").build(CONFIG, seed=0), tmp_path / "small")
    return tmp_path / "small"
