"""A ported model is trained on: its frame, its settings of decoding and its library's files go on, and back to the library.

The expected losses and tokens are those of ``transformers``, from its own tokenizer and its own shift of the labels.
"""

import json
import shutil

import numpy as np
import pytest

import transformer_mb as tmb
from elsewhere import elsewhere
from porting.five_scripts import lines
from porting.library_training import GENERATION, MODELS
from porting.on_backend import sentences
from porting.small_model import refused
from transformer_mb.checkpoint import average, read_checkpoint
from transformer_mb.errors import CheckpointError
from transformer_mb.porting.families import FAMILIES, canonical
from transformer_mb.porting.files.sources import read_source

LINES = [line for line in lines() if line == line.strip() and "\u2028" not in line and len(line) < 60]
PAIRS = list(zip(LINES[:12], LINES[12:24], strict=True))
SOURCES = LINES[30:42]
FAMILY = {"mbart": "mbart", "mbart-50": "mbart", "m2m100": "m2m_100", "bart": "bart"}
TRAINING = {"backend": "numpy", "batch_size": len(PAIRS), "learning_rate": 0.02, "dropout": 0.0, "clip_norm": None}
VALIDATION = {"validation": PAIRS, "validate_every_steps": 1, "keep_best": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    losses, _ = elsewhere("porting.library_training:made", folder=folder, lines=lines(), pairs=PAIRS)
    return folder, {name: float(value) for name, value in losses.items()}


@pytest.fixture(scope="module")
def trained(made, tmp_path_factory):
    """Per model: the port, its training of one step and then of another, the mean of both, and the library's folder of that."""
    folder, found = tmp_path_factory.mktemp("trained"), {}
    for name, (*_, languages) in MODELS.items():
        place = folder / name
        said = dict(zip(("source_language", "target_language"), languages, strict=False))
        (place / "port").mkdir(parents=True)
        canonical.write(read_source(made[0] / name, None, said).model, place / "port")
        found[name] = tmb.train(PAIRS, place / "on", init_from=place / "port", max_steps=1, **TRAINING, **VALIDATION)
        tmb.train(PAIRS, place / "on", resume=True, max_steps=2, validation=PAIRS)
        average(place / "on", place / "mean")
        (folder / "back" / name).mkdir(parents=True)
        FAMILIES[FAMILY[name]].write(canonical.read(place / "mean", {}), folder / "back" / name)
    return folder, found


@pytest.fixture(scope="module")
def expected(trained):
    arrays, _ = elsewhere("porting.library_training:generated", folder=trained[0] / "back", names=list(MODELS), lines=SOURCES)
    return {name: sentences(array) for name, array in arrays.items()}


@pytest.mark.parametrize("name", MODELS)
def test_the_loss_is_the_librarys(name, made, trained):
    assert trained[1][name].state.loss == pytest.approx(made[1][name], rel=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_what_the_port_brought_goes_on(name, trained):
    place = trained[0] / name
    before, *after = (read_checkpoint(place / step) for step in ("port", "on", "mean"))
    assert before.generation.num_beams == 4 and before.carried.files
    for one in after:
        assert one.generation == before.generation and one.carried == before.carried
        assert one.source_vocabulary == before.source_vocabulary and one.target_vocabulary == before.target_vocabulary
        assert one.config == before.config.replace(dropout=0.0)
        assert not np.array_equal(one.weights["encoder.embedding.weight"], before.weights["encoder.embedding.weight"])
    fields = json.loads((trained[0] / "back" / name / "generation_config.json").read_text())
    assert {**fields, **GENERATION} == fields


@pytest.mark.parametrize("name", MODELS)
def test_generate_gives_the_same_tokens_there_as_here(name, trained, expected):
    place = trained[0] / name / "mean"
    checkpoint, backend = read_checkpoint(place), tmb.get_backend("numpy")
    model, words = tmb.load(place, backend=backend), checkpoint.source_vocabulary
    got = [backend.generate(model, [words.framed(words.encode(line))], None, checkpoint.generation)[0] for line in SOURCES]
    assert got == expected[name]
    assert len({tuple(row) for row in got}) > len(SOURCES) / 3
    opening = list(checkpoint.target_vocabulary.opening)
    assert all(row[: len(opening)] == opening for row in got)  # the language, or <s>


def test_a_piece_that_is_spelled_as_a_language_is_not_taken_for_it(trained):
    words = read_checkpoint(trained[0] / "m2m100" / "port").target_vocabulary
    assert "en" in words and words.tokens(words.opening) == ["__en__"]


def test_outputs_begin_with_the_language_that_the_settings_name(made):
    def read(name, language):
        return read_source(made[0] / name, None, {"source_language": "fr_XX", "target_language": language}).model

    refused("decoder_start_token_id must be the code of target_language fr_XX, [0-9]+, got [0-9]+", read, "mbart", "fr_XX")
    assert read("mbart", "en_XX").generation.forced_bos_token_id is None
    for language, told in (("en_XX", False), ("ro_RO", True)):  # the folder forces the first of them
        model = read("mbart-50", language)
        assert model.target_vocabulary.tokens([model.generation.forced_bos_token_id]) == [language]
        assert any(f"begins each output with the token of {language} " in note for note in model.notes) == told


def test_a_new_training_may_take_the_place_of_a_port(trained, tmp_path):
    """With force, and nothing of the port is left there."""
    shutil.copytree(trained[0] / "bart" / "port", tmp_path / "port")
    new = {"max_steps": 1, "num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "backend": "numpy"}
    with pytest.raises(CheckpointError, match="holds a checkpoint"):
        tmb.train(PAIRS, tmp_path / "port", **new)
    tmb.train(PAIRS, tmp_path / "port", force=True, **new)
    assert read_checkpoint(tmp_path / "port").generation is None
    assert not (tmp_path / "port" / "carried.safetensors").exists()
