"""Weights of TensorFlow and flax in folders of ``transformers``: read without either, equal to those of torch in every bit."""

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from porting import family_models
from porting.hugging_face import MADE, folder_of
from porting.small_model import refused
from porting.stranded_files import (
    flax_tree,
    in_pieces,
    in_two,
    paths_of,
    tensorflow_tensors,
    write_datasets,
    write_flax,
    write_tensorflow,
    write_tree_of,
)
from transformer_mb.porting.families import FAMILIES
from transformer_mb.porting.port import port

MODELS = {"marian": "tf_marian_mt_model", "bert": "tf_bert_model"}
SAFETENSORS, TENSORFLOW, FLAX = "model.safetensors", "tf_model.h5", "flax_model.msgpack"


@pytest.fixture
def folder(family, tmp_path):
    return folder_of(family, tmp_path / "folder")


def prefixed(family, tensors):
    """As a TensorFlow model names them, whose BERT is always a part of something."""
    return {f"bert.{name}" if family == "bert" else name: array for name, array in tensors.items()}


def written(family, folder, container, change=lambda tensors: tensors):
    """Replace the folder's weights by another container of them, in which ``change`` was made; return torch's names."""
    tensors = load_file(folder / SAFETENSORS)
    (folder / SAFETENSORS).unlink()
    if container == TENSORFLOW:
        write_tensorflow(folder / TENSORFLOW, change(tensorflow_tensors(prefixed(family, tensors), MODELS[family])))
    else:
        write_flax(folder / FLAX, change(flax_tree(tensors)))
    return tensors


def same(first, second):
    assert first.config == second.config and set(first.weights) == set(second.weights)
    assert all(array.tobytes() == second.weights[name].tobytes() for name, array in first.weights.items())


ALL = pytest.mark.parametrize(("family", "container"), [(family, one) for family in MADE for one in (TENSORFLOW, FLAX)])


@ALL
def test_the_weights_are_those_of_torch(family, container, folder):
    expected = FAMILIES[family].read(folder, {})
    written(family, folder, container)
    got = FAMILIES[family].read(folder, {})
    same(got, expected)
    assert any(f"The weights were read from {container}" in note for note in got.notes)


@ALL
def test_of_shards(container, family, folder):
    expected, tensors = FAMILIES[family].read(folder, {}), load_file(folder / SAFETENSORS)
    (folder / SAFETENSORS).unlink()
    if container == FLAX:
        in_two(folder, FLAX, dict(paths_of(flax_tree(tensors))), write_tree_of)
    else:
        whole = tensorflow_tensors(prefixed(family, tensors), MODELS[family])
        own = {
            "/".join(name.split("/")[1 if "model.shared" in name else -1 if name.count("/") < 2 else 2 :]): a
            for name, a in whole.items()
        }
        in_two(folder, TENSORFLOW, own, write_datasets)
    same(FAMILIES[family].read(folder, {}), expected)
    next(folder.glob("*-00002-of-00002*")).unlink()
    refused("lists 2 files, but 1 of them are not there", FAMILIES[family].read, folder, {})


@pytest.mark.parametrize("family", ["marian"])
@pytest.mark.parametrize("container", [TENSORFLOW, FLAX])
def test_a_table_that_is_tied_may_be_there_once_or_twice(family, container, folder):
    expected = FAMILIES[family].read(folder, {})

    def twice(tensors):
        if container == FLAX:
            table = tensors["model"]["shared"]["embedding"]
            return {**tensors, "lm_head": {"kernel": np.ascontiguousarray(table.T)}}
        (table,) = (array for name, array in tensors.items() if "shared" in name)
        return {**tensors, "lm_head/tf_marian_mt_model/lm_head/kernel:0": table.T}

    written(family, folder, container, twice)
    same(FAMILIES[family].read(folder, {}), expected)


@pytest.mark.parametrize("family", MADE)
def test_bfloat16_and_pieces_of_flax(family, folder):
    """What flax cuts is put together; bfloat16 is the upper half of each number."""
    before = load_file(folder / SAFETENSORS)
    cut = {name: (array.view(np.uint32) & 0xFFFF0000).view(np.float32) for name, array in before.items()}
    save_file(cut, folder / SAFETENSORS)
    expected = FAMILIES[family].read(folder, {})
    (folder / SAFETENSORS).unlink()
    halves = {name: (array.view(np.uint32) >> 16).astype(np.uint16) for name, array in cut.items()}
    write_flax(folder / FLAX, flax_tree(halves))
    same(FAMILIES[family].read(folder, {}), expected)
    table = "model.shared.weight" if family == "marian" else "embeddings.word_embeddings.weight"
    write_flax(folder / FLAX, flax_tree({**cut, table: in_pieces(cut[table], 20)}))
    same(FAMILIES[family].read(folder, {}), expected)


@pytest.mark.parametrize("family", ["bert"])
def test_float16_of_tensorflow_stays_float16(family, folder):
    written(family, folder, TENSORFLOW, lambda tensors: {name: array.astype(np.float16) for name, array in tensors.items()})
    assert {array.dtype for array in FAMILIES[family].read(folder, {}).weights.values()} == {np.dtype(np.float16)}


# Where T5's table lies: as 4.57 wrote it, and as releases did whose variable was called shared/shared/weight.
SHARED = ["encoder/shared/shared/embeddings:0", "shared/shared/shared/weight:0"]


@pytest.mark.parametrize("shared", SHARED)
def test_t5_of_tensorflow(shared, tmp_path):
    """Its norms have a weight where others have a gamma; the names are those of a file that 4.57.6 wrote."""
    family, folder = family_models.ROWS["t5"], family_models.folder_of("t5", tmp_path / "folder")
    expected, tensors = family.read(folder, {}), load_file(folder / SAFETENSORS)
    found = {shared: tensors.pop("shared.weight")}
    for name, array in tensors.items():
        *levels, part, leaf = name.split(".")
        path = "/".join([*levels, part]).replace("block/", "block_._").replace("layer/", "layer_._")
        word = "embeddings" if part == "relative_attention_bias" else "kernel" if array.ndim == 2 else leaf
        found[f"{path.split('/')[0]}/tft5_for_conditional_generation/{path}/{word}:0"] = array.T if word == "kernel" else array
    (folder / SAFETENSORS).unlink()
    write_tensorflow(folder / TENSORFLOW, found)
    same(family.read(folder, {}), expected)


WRONG = {
    "a name that comes twice": (
        lambda tensors: {
            **tensors,
            "other/tf_bert_model/bert/pooler/dense/kernel:0": 2 * tensors["bert/tf_bert_model/bert/pooler/dense/kernel:0"],
        },
        "must hold one tensor per name, but bert.pooler.dense.weight is another one",
    ),
    "a kernel that lies as torch's": (
        lambda tensors: {name: array.T if "intermediate/dense/kernel" in name else array for name, array in tensors.items()},
        r"encoder.layer.0.intermediate.dense.weight .*\[",
    ),
    "a layer that is not there": (
        lambda tensors: {name: array for name, array in tensors.items() if "layer_._0/output" not in name},
        "encoder.layer.0.output",
    ),
    "texts": (lambda tensors: {**tensors, "bert/x/bert/name:0": np.array([b"a", b"b"])}, "must be of float64"),
}


@pytest.mark.parametrize("family", ["bert"])
def test_a_layer_that_keras_lists_with_a_head_again_is_read_once(family, folder):
    expected = FAMILIES[family].read(folder, {})
    table = "bert/tf_bert_model/bert/embeddings/word_embeddings/embeddings:0"
    again = table.replace("bert/", "lm_head/", 1)
    written(family, folder, TENSORFLOW, lambda tensors: {**tensors, again: tensors[table]})
    same(FAMILIES[family].read(folder, {}), expected)


@pytest.mark.parametrize("family", ["bert"])
@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_such_model_is_refused(family, what, folder):
    change, words = WRONG[what]
    written(family, folder, TENSORFLOW, change)
    refused(words, FAMILIES[family].read, folder, {})


@pytest.mark.parametrize("family", ["bert"])
def test_damaged_files_are_refused(family, folder):
    written(family, folder, FLAX)
    whole = (folder / FLAX).read_bytes()
    for content in (whole[:-40], whole[:1], b"", b"\x80\x04N."):
        (folder / FLAX).write_bytes(content)
        refused("flax_model.msgpack", FAMILIES[family].read, folder, {})
    (folder / FLAX).rename(folder / TENSORFLOW)
    refused("tf_model.h5", FAMILIES[family].read, folder, {})
    (folder / TENSORFLOW).unlink()
    refused(
        "must hold its weights in model.safetensors, pytorch_model.bin, tf_model.h5, flax_model.msgpack",
        FAMILIES[family].read,
        folder,
        {},
    )


@pytest.mark.parametrize("family", ["marian"])
def test_torchs_file_is_read_before_the_others(family, folder):
    expected = FAMILIES[family].read(folder, {})
    tensors = load_file(folder / SAFETENSORS)
    write_flax(folder / FLAX, flax_tree({name: array + 1 for name, array in tensors.items()}))
    same(FAMILIES[family].read(folder, {}), expected)


@pytest.mark.parametrize("container", [TENSORFLOW, FLAX])
@pytest.mark.parametrize("family", ["marian"])
def test_a_port_to_its_own_family_writes_safetensors(family, container, folder, tmp_path):
    """With the proof, by transformers' class of torch on the tensors that were read."""
    tensors = written(family, folder, container)
    report = port(folder, tmp_path / "again", family)
    assert report.holds
    again = load_file(tmp_path / "again" / SAFETENSORS)
    assert {name: array.tobytes() for name, array in again.items()} == {n: a.tobytes() for n, a in tensors.items()}
