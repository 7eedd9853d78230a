"""Folders of ``transformers`` that are other models, or name code: refused, or run without any of it."""

import os
from dataclasses import replace

import numpy as np
import pytest

import transformer_mb as tmb
from porting.hugging_face import MADE, folder_of, small_marian
from porting.small_model import refused, spoil
from transformer_mb.errors import CheckpointError, PortError
from transformer_mb.porting import port, worker
from transformer_mb.porting.families import marian
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.proof.probe import probe_batch

CALLED = """
def use_kernel_forward_from_hub(*_, **__):
    return lambda decorated: decorated


use_kernelized_func = use_kernel_forward_from_hub


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def record(self, *arguments, **options):
        with open({log!r}, "a") as log:
            log.write(f"{{name}} {{arguments}}\\n")
        raise RuntimeError("a stand-in was called")

    return type(name, (), {{"__init__": record}})
"""


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize(
    ("family", "given"),
    [("bert", one) for one in ("camembert", "data2vec-text", "electra")]
    + [("marian", one) for one in ("plbart", "led", "prophetnet")],
)
def test_another_model_is_refused_even_when_the_family_is_said(family, given, forced, tmp_path):
    folder = folder_of(family, tmp_path / "folder")
    spoil(folder / "config.json", model_type=given, architectures=None)
    with pytest.raises(PortError) as caught:
        read_source(folder, family if forced else None, {})
    assert repr(given) in str(caught.value) and "--from" not in str(caught.value)
    assert not forced or f"model_type must be {family!r}" in str(caught.value)


@pytest.mark.parametrize("family", MADE)
def test_a_folder_without_a_model_type_must_name_a_class(family, tmp_path):
    folder = folder_of(family, tmp_path / "folder")
    spoil(folder / "config.json", model_type=None)
    assert read_source(folder, None, {}).family.name == family
    spoil(folder / "config.json", architectures=None)
    if family == "bert":  # of 2019 and 2020 there are such
        assert any("taken on trust" in note for note in read_source(folder, family, {}).model.notes)
    words = {"bert": "it names no model .* from bert", "marian": "model_type must be .* got None"}
    refused(words[family], read_source, folder, None if family == "bert" else family, {})
    spoil(folder / "config.json", model_type=family)
    assert read_source(folder, None, {}).family.name == family
    spoil(folder / "config.json", architectures=["SomebodysOwnModel"])
    refused(r"architectures must name one of .*, got \['SomebodysOwnModel'\]", read_source, folder, None, {})


@pytest.mark.parametrize("family", MADE)
def test_who_loads_such_a_folder_as_a_checkpoint_hears_of_port(family, tmp_path):
    folder = folder_of(family, tmp_path / "folder")
    words = f"got None: it is a Hugging Face folder's, of model_type '{family}'.*`transformer-mb port {folder} NEW --to"
    with pytest.raises(CheckpointError, match=words):
        tmb.load(folder)
    with pytest.raises(PortError, match=f"^{folder}/model.safetensors is a part of a HF .* folder: name the folder {folder}"):
        read_source(folder / "model.safetensors", None, {})
    spoil(folder / "config.json", model_type=None)
    with pytest.raises(CheckpointError, match="got None.$"):
        tmb.load(folder)


def test_layers_that_differ_are_refused(tmp_path):
    folder = folder_of("bert", tmp_path / "folder")
    spoil(folder / "config.json", per_layer_config={"1": {"intermediate_size": 4}})
    refused("per_layer_config must be None", read_source, folder, None, {})
    spoil(folder / "config.json", per_layer_config=None, brand_new_switch=3)
    assert any("brand_new_switch, not known here" in note for note in read_source(folder, None, {}).model.notes)


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A package that would fetch code; the file is what it was asked for."""
    packages, log = tmp_path / "packages", tmp_path / "called.txt"
    (packages / "kernels").mkdir(parents=True)
    (packages / "kernels" / "__init__.py").write_text(CALLED.format(log=str(log)))
    (packages / "kernels-0.18.5.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: kernels\nVersion: 0.18.5\n"
    (packages / "kernels-0.18.5.dist-info" / "METADATA").write_text(metadata)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")]))
    return log


@pytest.mark.long(but=1)
@pytest.mark.parametrize("family", MADE)
def test_a_folder_that_names_code_runs_none(family, tmp_path, stand_in):
    folder = folder_of(family, tmp_path / "folder")
    code = {"auto_map": {"AutoModel": "somebody/something--model.Model"}, "custom_generate": "somebody/something"}
    spoil(folder / "config.json", _attn_implementation="somebody/something", attn_implementation="somebody/something", **code)
    spoil(folder / "config.json", experts_implementation="somebody/something")
    (folder / "custom_generate").mkdir()
    (folder / "custom_generate" / "generate.py").write_text("raise RuntimeError('it was run')")
    report = tmb.port(folder, tmp_path / "out", to="canonical")
    assert " on torch " in report.proof.source_ran
    assert any("_attn_implementation" in note and "not used" in note for note in report.notes)
    assert not stand_in.exists(), stand_in.read_text()


def test_what_runs_is_what_was_read(tmp_path, monkeypatch):
    """Files that change after they were read change nothing."""
    folder, prove = folder_of("marian", tmp_path / "folder"), port.prove
    expected = read_source(folder, None, {}).model.weights

    def after_a_swap(*arguments, **options):
        for file in folder.iterdir():
            file.write_text("gone")
        return prove(*arguments, **options)

    monkeypatch.setattr(port, "prove", after_a_swap)
    proof = tmb.port(folder, tmp_path / "after", to="canonical").proof
    assert " on torch " in proof.source_ran and set(proof.errors) == {"encoder", "logits"} and any(proof.tokens)
    weights = read_source(tmp_path / "after", None, {}).model.weights
    assert set(weights) == set(expected) and all(np.array_equal(weights[name], expected[name]) for name in weights)
    assert (folder / "config.json").read_text() == "gone"


@pytest.mark.long
def test_tensors_that_the_class_does_not_take_are_named(tmp_path):
    model = read_source(folder_of("bert", tmp_path / "folder"), None, {}).model
    arrays = {f"tensor.{name}": array for name, array in model.native.tensors.items()}
    arrays["tensor.encoder.layer.0.elsewhere.weight"] = arrays.pop("tensor.encoder.layer.0.output.dense.weight")
    arrays |= {f"batch.{name}": array for name, array in probe_batch(model.config).items()}
    settings = {"config": model.config.to_dict(), "native_settings": model.native.settings, "max_steps": 4, "given": {}}
    words = "missing encoder.layer.0.output.dense.weight; unexpected encoder.layer.0.elsewhere.weight"
    refused(words, worker.call, "proof.reference_runs.hugging_face:run_folder", arrays, settings)


@pytest.mark.long
def test_a_model_of_seven_positions_is_ported(tmp_path):
    """Its probe leaves room for the one token more that ``generate`` takes."""
    small = small_marian()
    place = tmp_path / "folder"
    place.mkdir()
    marian.write(replace(small, config=small.config.replace(max_len=7)), place)
    spoil(place / "generation_config.json", return_dict_in_generate=True)
    report = tmb.port(place, tmp_path / "out", to="canonical")
    assert report.holds and max(map(len, report.proof.tokens)) == 6
