"""Modules as their owners write them around torch's and paddle's stacks: masks, tables, norms, ties are theirs or refused."""

from functools import partial

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import transformer_mb as tmb
from porting import make_user_stacks
from porting.small_model import BATCH, on_numpy, refused
from transformer_mb.errors import PortError
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.inspection import inspect

LIMIT = 1e-5
BOTH = {"num_heads": 4, "source_embedding": "words", "target_embedding": "target", "output": "out"}
LEARNED = {"source_positions": "positions", "target_positions": "positions"}
LANGUAGE = {"num_heads": 4, "architecture": "decoder", "target_embedding": "embedding", "output": "linear"}
BLOCKS = {
    **{"num_heads": 4, "architecture": "decoder", "target_embedding": "wte", "target_positions": "wpe", "output": "head"},
    **{"target_norm": "ln_f", "norm_position": "pre", "activation": "gelu", "embedding_scale": False},
}
CASES = [
    ("torch", "halves", BOTH),
    ("torch", "halves", {**BOTH, "ignore": ["pe"]}),
    ("torch", "interleaved", BOTH),
    ("torch", "cosines first", {**BOTH, "source_positions": "pe", "target_positions": "pe"}),
    ("torch", "learned", {**BOTH, **LEARNED}),
    ("torch", "shared", BOTH),
    ("torch", "shared", {**BOTH, "target_embedding": "words"}),
    ("torch", "language", LANGUAGE),
    ("torch", "language", {**LANGUAGE, "source_embedding": "embedding"}),
    ("torch", "blocks", BLOCKS),
    ("paddle", "separate", BOTH),
    ("paddle", "language", {**LANGUAGE, "sinusoid_layout": "halves"}),
]


@pytest.fixture
def made(stacks_made):
    return partial(stacks_made, "make_user_stacks")


def file_of(folder, name):
    return next(path for path in folder.glob(f"{name}.*") if path.suffix != ".npz")


def difference(made, framework, name, settings):
    folder = made(framework)
    with np.load(folder / f"{name}.npz") as expected:
        logits = expected["logits"]
    return np.abs(on_numpy(read_source(file_of(folder, name), None, settings).model, BATCH)["logits"] - logits).max()


@pytest.mark.parametrize(("framework", "name", "settings"), CASES)
def test_what_its_owner_ran_is_what_is_read(made, framework, name, settings):
    assert difference(made, framework, name, settings) <= LIMIT


def test_another_table_than_that_of_the_file_would_be_seen(made):
    source = read_source(file_of(made("torch"), "halves"), None, BOTH)
    other = type(source.model)(config=source.model.config.replace(sinusoid_layout="interleaved"), weights=source.model.weights)
    assert np.abs(on_numpy(other, BATCH)["logits"] - on_numpy(source.model, BATCH)["logits"]).max() > 0.1


@pytest.mark.parametrize("more", [{}, {"ignore": ["pe"]}])
def test_a_table_that_nothing_here_computes_is_refused_even_where_it_is_ignored(made, more):
    words = r"pe \[40, 1, 16\] holds positions, but neither .* name it with source_positions and target_positions"
    refused(words, read_source, file_of(made("torch"), "cosines first"), None, {**BOTH, **more})


def test_a_table_shows_the_layout_and_how_many_positions_there_are(made):
    file = file_of(made("torch"), "halves")
    assert read_source(file, None, BOTH).model.config.max_len == make_user_stacks.STEPS
    assert "sinusoid_layout" not in inspect(file, None, BOTH).origins["assumed"]
    with pytest.raises(
        PortError, match="contradict what the source itself shows.*sinusoid_layout is 'halves', not 'interleaved'"
    ):
        read_source(file, None, {**BOTH, "sinusoid_layout": "interleaved"})


def test_a_table_that_begins_at_position_one_shows_it(made, tmp_path):
    """And so one that begins at 2, which no field of a configuration with sinusoids says by itself, is refused."""
    tensors = load_file(file_of(made("torch"), "interleaved"))
    save_file({**tensors, "pe": tensors["pe"][1:].copy()}, tmp_path / "one.safetensors")
    config = read_source(tmp_path / "one.safetensors", None, BOTH).model.config
    assert (config.position_offset, config.max_len) == (1, make_user_stacks.STEPS - 1)
    save_file({**tensors, "pe": tensors["pe"][2:].copy()}, tmp_path / "two.safetensors")
    refused("holds positions, but neither", read_source, tmp_path / "two.safetensors", None, BOTH)


def test_ties_are_noticed_and_said(made):
    model = read_source(file_of(made("torch"), "shared"), None, BOTH).model
    assert model.config.tie_output and model.config.share_embeddings
    assert sum("in every bit: read as one shared tensor" in note for note in model.notes) == 2


def test_a_tie_that_only_absence_shows_is_said(made):
    settings = {name: value for name, value in BOTH.items() if name != "output"}
    model = read_source(file_of(made("torch"), "shared"), None, {**settings, "ignore": ["out"]}).model
    assert "tie_output = true: the file has no decoder.dense.weight." in model.notes


def test_a_single_stack_says_that_it_was_taken_for_an_encoder(made):
    file, settings = file_of(made("torch"), "language"), {"num_heads": 4, "source_embedding": "embedding", "ignore": ["linear"]}
    found = inspect(file, None, settings)
    assert found.origins["assumed"]["architecture"] == "encoder"
    assert any('Say "architecture": "decoder" if it is called with a causal mask' in note for note in found.odd)


REFUSED = [
    (
        "language",
        {"num_heads": 4, "source_embedding": "embedding", "output": "linear"},
        'output names linear.weight.*"decoder"',
    ),
    ("learned", BOTH, r"positions \[1, 40, 16\] holds positions"),
    (
        "halves",
        {"num_heads": 4, "output": "out"},
        "must name the embedding of the encoder .source_embedding. .* name out.weight",
    ),
    ("halves", {**BOTH, "output": "absent"}, "output names absent, but the file holds no tensor absent or absent.weight"),
    ("halves", {**BOTH, "ignore": ["out.bias"]}, "names a part of a layer that the settings name: out.bias"),
    ("halves", {**BOTH, "ignore": ["enc.layers.1"]}, "ignore is for buffers, but it names 12 tensors that are a part"),
    ("blocks", {**BLOCKS, "ignore": ["blocks.1"]}, "ignore is for buffers, but it names 12 tensors that are a part"),
]


@pytest.mark.parametrize(("name", "settings", "words"), REFUSED)
def test_what_cannot_be_meant_is_refused_by_name(made, name, settings, words):
    refused(words, read_source, file_of(made("torch"), name), None, settings)


def test_one_final_norm_of_two_and_two_encoders_are_refused(made, tmp_path):
    tensors = load_file(file_of(made("torch"), "halves"))
    norm = {f"enc.norm.{leaf}": np.ones(16, np.float32) for leaf in ("weight", "bias")}
    save_file({**tensors, **norm}, tmp_path / "norm.safetensors")
    with pytest.raises(PortError, match="after both stacks or after none, got one after the encoder, none after the decoder"):
        read_source(tmp_path / "norm.safetensors", None, BOTH)
    twin = {name.replace("enc.", "twin."): array for name, array in tensors.items() if name.startswith("enc.")}
    save_file({**tensors, **twin}, tmp_path / "twin.safetensors")
    with pytest.raises(
        PortError, match=r"one encoder, one decoder, or one of each, got the stacks dec.layers.*enc.layers.*twin.layers"
    ):
        read_source(tmp_path / "twin.safetensors", None, BOTH)


PROVED = [
    pytest.param("torch", "halves", BOTH, "torch_transformer", id="torch, no norms"),
    pytest.param("torch", "language", LANGUAGE, "torch_transformer", marks=pytest.mark.long, id="torch, causal"),
    pytest.param("torch", "blocks", BLOCKS, "canonical", marks=pytest.mark.long, id="torch, own list"),
    pytest.param("paddle", "separate", BOTH, "paddle_transformer", marks=pytest.mark.long, id="paddle, no norms"),
    pytest.param("paddle", "language", LANGUAGE, "paddle_transformer", marks=pytest.mark.long, id="paddle, causal"),
]


@pytest.mark.parametrize(("framework", "name", "settings", "to"), PROVED)
def test_the_frameworks_own_stacks_prove_it(made, tmp_path, framework, name, settings, to):
    report = tmb.port(file_of(made(framework), name), tmp_path / "out", to=to, config=settings)
    causal = " with a causal mask" if name in ("language", "blocks") else ""
    assert report.proof.source_ran.startswith(f"the stacks of {framework} ")
    assert f"{causal}, layers around them" in report.proof.source_ran
    if to != "canonical":
        assert report.proof.result_ran.startswith(f"the stacks of {framework} ")
        names = {"framework": framework, "load": "load_state_dict" if framework == "torch" else "set_state_dict"}
        assert any(names["load"] in line for line in report.loading.lines)
