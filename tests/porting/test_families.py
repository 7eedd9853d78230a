"""Every family of ``transformers``: its published configurations with random weights, run by the library and by ours.

The expected values are those of the library's own classes in float64, with PyTorch's attention and exact sinusoids.
"""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

import transformer_mb as tmb
from families import comparison, ours
from families.published import PUBLISHED, shallow
from porting.small_model import spoil
from porting.test_marian_npz import marian_tensors
from transformer_mb.built_in import BUILT_IN
from transformer_mb.porting.families import OF_LIBRARY
from transformer_mb.porting.files.sources import read_source
from transformer_mb.task_heads import task_outputs

SHALLOW = {name: (made_by, shallow(config)) for name, (made_by, config) in PUBLISHED.items()}
# One of each kind of family in the quick run: post-norm and pre-norm, packed, a decoder or an encoder alone, with heads.
FEW = (
    *("opus-mt-en-de", "bart-base", "bart-large-mnli", "pegasus-xsum", "wmt19-en-de"),
    *("gpt2", "opt-125m", "roberta-base", "distilbert-sst-2"),
)
QUICK = ("numpy", "torch")
PORTED = "bart-large-mnli"
EACH = [name if name in FEW else pytest.param(name, marks=pytest.mark.long) for name in SHALLOW]
ON = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in BUILT_IN]


@pytest.fixture(scope="module")
def made(tmp_path_factory, request):
    """A folder of each that this run asks for, and what the library computes."""
    cases = [getattr(item, "callspec", None) for item in request.session.items]
    asked = {case.params["name"] for case in cases if case and "name" in case.params}
    folder = tmp_path_factory.mktemp("families")
    return folder, comparison.made(folder, {name: SHALLOW[name] for name in SHALLOW if name in {*asked, *FEW}})[0]


@pytest.fixture(scope="module")
def column(made):
    """By backend: how far its outputs are from the library's."""
    found = {}

    def get(backend):
        if backend not in found:
            names = sorted({key.split("/")[0] for key in made[1]})
            found[backend] = comparison.compared(backend, made[0], names, made[1])["models"]
        return found[backend]

    return get


def test_every_family_has_a_published_model():
    """So that none of them is a table that nothing has run."""
    classes = {made_by for made_by, _ in PUBLISHED.values()}
    assert not [module.ROW.name for module in OF_LIBRARY if not classes & set(module.FAMILY.library.classes)]
    assert len(PUBLISHED) >= 16


@pytest.mark.parametrize("backend", ON)
@pytest.mark.parametrize("name", EACH)
def test_a_port_computes_what_the_library_does(name, backend, column, record_property):
    row = column(backend)[name]
    record_property("error", str(row))
    assert comparison.holds(row), row
    assert len(row["errors"]) + len(row["tokens"]) >= (1 if name == "all-MiniLM-L6-v2" else 2)


@pytest.mark.parametrize("name", EACH)
def test_a_model_goes_back_bit_for_bit(name, made, tmp_path):
    assert not ours.written_back(made[0] / name, tmp_path / "back")
    before, after = (json.loads((place / "config.json").read_text()) for place in (made[0] / name, tmp_path / "back"))
    changed = {field for field in before if field in after and after[field] != before[field]}
    assert not changed and set(before) - set(after) <= {
        "forced_eos_token_id",
        "forced_bos_token_id",
        "encoder_no_repeat_ngram_size",
    }


@pytest.mark.parametrize("name", ["bart-base", "gpt2", "opt-125m", "distilbert-sst-2"])
def test_a_wrong_weight_shows(name, made):
    """One number of one matrix, a hundredth off, in a model of many."""
    folder, expected = made
    batch = {key.split("batch.")[1]: array for key, array in expected.items() if key.startswith(f"{name}/batch.")}
    backend, model = tmb.get_backend("numpy", dtype="float64"), read_source(folder / name, None, {}).model
    weights = {key: np.array(array) for key, array in model.weights.items()}
    weights[next(key for key in weights if key.endswith("W_v.weight"))][1, 2] += 0.01
    side = "encoder" if model.config.has_encoder else "logits"
    given = (batch["source"], batch["source_valid_lens"]) if side == "encoder" else (None, batch["target"])
    run = backend.encode if side == "encoder" else backend.logits
    got = run(backend.from_weights(model.config, weights), *given)
    if side == "encoder":
        got = got * (np.arange(got.shape[1]) < batch["source_valid_lens"][:, None])[..., None]
    assert not comparison.holds(comparison.differences({side: expected[f"{name}/{side}"]}, {side: got}))


def test_an_output_that_is_missing_shows(made):
    outputs = {"logits": np.ones((2, 3, 4))}
    assert not comparison.holds(comparison.differences(outputs, {}))
    assert not comparison.holds(comparison.differences({}, {}))
    assert not comparison.holds(comparison.differences({"greedy": np.ones((2, 3))}, {"greedy": np.zeros((2, 3))}))


@pytest.mark.parametrize("name", [name if name == PORTED else pytest.param(name, marks=pytest.mark.long) for name in SHALLOW])
def test_a_port_is_proved_by_the_class_of_the_folder(name, made, tmp_path):
    """There and back: to a checkpoint and from it to a folder of the library, heads and all."""
    there = tmb.port(made[0] / name, tmp_path / "canonical", to="canonical")
    assert there.holds and " on torch " in there.proof.source_ran
    source = read_source(made[0] / name, None, {})
    back = tmb.port(tmp_path / "canonical", tmp_path / "back", to=source.family.name)
    assert back.holds and " on torch " in back.proof.result_ran
    heads = {f"head.{head.task}" for head in source.model.heads if head.task}
    assert heads == {key for key in there.proof.errors if key.startswith("head.")}
    assert heads == {key for key in back.proof.errors if key.startswith("head.")}
    assert heads or name != PORTED


def test_a_model_of_marians_computes_what_it_was_converted_to(made, tmp_path):
    """By the settings that say the converted class's sinusoids and epsilon: the library's own logits and tokens."""
    name = "opus-mt-en-de"
    place, expected = made
    model = read_source(place / name, None, {}).model
    options = {"dim-emb": 32, "transformer-dim-ffn": 48, "transformer-heads": 8, "dim-vocabs": [96, 96]}
    text = "".join(f"{key}: {value}\n" for key, value in {**options, "enc-depth": 2, "dec-depth": 2}.items())
    tensors = marian_tensors(model.weights)
    # The column of the start has no bias of its own in Marian.
    bias = model.weights["decoder.dense.bias"][-1]
    file = tmp_path / "model.npz"
    yaml = np.frombuffer(f"{text}tied-embeddings-all: true\ntransformer-ffn-activation: swish\n".encode(), np.int8)
    np.savez(file, **tensors, **{"special:model.yml": yaml})
    found = read_source(file, None, {"sinusoid_layout": "halves", "norm_eps": 1e-5}).model
    backend = tmb.get_backend("numpy", dtype="float64")
    native = backend.from_weights(found.config, found.weights)
    batch = {key.split("batch.")[1]: array for key, array in expected.items() if key.startswith(f"{name}/batch.")}
    logits = backend.logits(native, batch["source"], batch["target"], batch["source_valid_lens"])
    wanted = expected[f"{name}/logits"].copy()
    wanted[..., -1] -= bias
    assert comparison.holds(comparison.differences({"logits": wanted}, {"logits": logits}))


def test_a_head_that_is_given_other_states_shows(made):
    """The last state in place of the first."""
    name = "distilbert-sst-2"
    source = read_source(made[0] / name, None, {})
    (head,) = source.model.heads
    swapped = replace(head, takes="last")
    weights = {**source.model.weights}
    backend = tmb.get_backend("numpy", dtype="float64")
    batch = {key.split("batch.")[1]: array for key, array in made[1].items() if key.startswith(f"{name}/batch.")}
    model = backend.from_weights(source.model.config, weights)
    right, wrong = (
        task_outputs(backend, model, (one,), batch["source"], batch["source_valid_lens"])["sequence_classification"]
        for one in (head, swapped)
    )
    expected = made[1][f"{name}/head"]
    assert comparison.holds(comparison.differences({"head": expected}, {"head": right}))
    assert not comparison.holds(comparison.differences({"head": expected}, {"head": wrong}))


def test_fields_of_the_folder_travel(made, tmp_path):
    """What nothing here knows, such as the names of labels, and the tokenizer's files."""
    folder = shutil.copytree(made[0] / "distilbert-sst-2", tmp_path / "folder")
    spoil(folder / "config.json", id2label={"0": "bad", "1": "good"})
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    tmb.port(folder, tmp_path / "canonical", to="canonical")
    tmb.port(tmp_path / "canonical", tmp_path / "back", to="distilbert")
    fields = json.loads((tmp_path / "back" / "config.json").read_text())
    assert fields["id2label"] == {"0": "bad", "1": "good"} and fields["architectures"] == [
        "DistilBertForSequenceClassification"
    ]
    assert (tmp_path / "back" / "tokenizer_config.json").read_text() == '{"do_lower_case": true}'
