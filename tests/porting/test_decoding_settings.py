"""What a MarianMT folder says about decoding: carried, noted, or refused."""

import json

import pytest

from porting.hugging_face import SMALL, STEPS, small_marian
from porting.small_model import on_numpy, refused, spoil
from transformer_mb.decoding.generation_config import GenerationConfig
from transformer_mb.porting.families import canonical, marian
from transformer_mb.porting.files.targets import find_target, write_target


@pytest.fixture
def folder(tmp_path):
    marian.write(small_marian(), tmp_path)
    return tmp_path


def test_suppressed_tokens_are_never_generated_here_either(references):
    """Against ``generate`` of the folder as its users have it; the end token among bad words changes nothing there."""
    reference, without = references["suppressing"], references["published"]
    assert json.loads((reference.folder / "generation_config.json").read_text())["suppress_tokens"]
    model = marian.read(reference.folder, {})
    assert on_numpy(model, reference.batch, steps=STEPS)["tokens"] == reference.outputs["tokens"] == reference.proof["tokens"]
    assert reference.outputs["tokens"] != without.outputs["tokens"]


CHANGING = {
    "do_sample": True,
    "num_beam_groups": 2,
    "forced_decoder_ids": [[1, 2]],
    "force_words_ids": [[3]],
    "guidance_scale": 2.0,
    "penalty_alpha": 0.6,
    "stop_strings": ["."],
    "max_time": 1.5,
}


@pytest.mark.parametrize("name", CHANGING)
def test_decoding_that_changes_tokens_is_refused_until_it_is_agreed(name, folder):
    spoil(folder / "generation_config.json", **{name: CHANGING[name]})
    refused(f'{name} = .*other tokens.*"drop_decoding": \\["{name}"\\]', marian.read, folder, {})
    model = marian.read(folder, {"drop_decoding": [name]})
    assert any(name in note and "dropped" in note for note in model.notes)
    assert name not in {**model.native.settings["generation"], **model.generation.to_dict()}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"eos_token_id": [0, 4]}, r"eos_token_id must be a single token .* \[0, 4\]"),
        ({"eos_token_id": 4}, "eos_token_id must be that of config.json, 0, got 4"),
        ({"decoder_start_token_id": 2}, "decoder_start_token_id must be that of config.json, 6, got 2"),
        ({"suppress_tokens": 5}, "suppress_tokens must be a list of token ids, got 5"),
    ],
)
def test_tokens_that_the_two_files_give_otherwise(changes, words, folder):
    spoil(folder / "generation_config.json", **changes)
    refused(words, marian.read, folder, {"drop_decoding": []})


CARRIED = {
    "num_beams": 4,
    "early_stopping": True,
    "length_penalty": 2.0,
    "max_length": 9,
    "min_length": 3,
    "no_repeat_ngram_size": 3,
    "repetition_penalty": 1.2,
    "bad_words_ids": [[6], [1, 2]],
    "sequence_bias": [[[2, 3], -1.5]],
    "begin_suppress_tokens": [4],
    "suppress_tokens": [5],
    "forced_bos_token_id": 2,
    "forced_eos_token_id": 3,
}


def test_what_is_carried_comes_back_whatever_it_goes_through(folder, tmp_path):
    """As the same fields: in a checkpoint, and in a folder that is written of it."""
    spoil(folder / "generation_config.json", **CARRIED)
    model = marian.read(folder, {})
    assert GenerationConfig.from_dict(CARRIED) == model.generation
    (tmp_path / "checkpoint").mkdir()
    canonical.write(model, tmp_path / "checkpoint")
    again = canonical.read(tmp_path / "checkpoint", {})
    assert again.generation == model.generation and again.config.suppress_ids == (6, 5)
    (tmp_path / "again").mkdir()
    marian.write(again, tmp_path / "again")
    assert marian.read(tmp_path / "again", {}).generation == model.generation
    written = json.loads((tmp_path / "again" / "generation_config.json").read_text())
    assert {**written, **CARRIED} == written


def test_neutral_values_and_what_no_search_asks_are_not_mentioned(folder):
    neutral = {"repetition_penalty": 1.0, "do_sample": False, "min_length": 0, "num_beams": 1, "return_dict_in_generate": True}
    spoil(folder / "generation_config.json", **neutral, eos_token_id=[0], temperature=0.6, transformers_version="5.23.0")
    model = marian.read(folder, {})
    assert not [note for note in model.notes if "generation_config" in note]
    assert model.generation == small_marian_generation()
    spoil(folder / "generation_config.json", brand_new_knob=1)
    assert "holds brand_new_knob, not known here" in " ".join(marian.read(folder, {}).notes)
    refused("drop_decoding must name what .* got min_length", marian.read, folder, {"drop_decoding": ["min_length"]})
    spoil(folder / "generation_config.json", num_beams=0)
    refused("generation_config.json: num_beams must be a whole number from 1 to 1000, got 0", marian.read, folder, {})


def small_marian_generation():
    return GenerationConfig(forced_eos_token_id=0, max_length=10, bad_words_ids=((6,),))


def test_a_checkpoint_whose_settings_cannot_be_is_refused(folder, tmp_path):
    model, place = marian.read(folder, {}), tmp_path / "checkpoint"
    place.mkdir()
    canonical.write(model, place)
    spoil(place / "generation_config.json", early_stopping="maybe")
    refused("generation_config.json holds no valid settings of decoding: early_stopping must be", canonical.read, place, {})


def test_what_has_no_place_for_them_says_so(folder, tmp_path):
    notes = write_target(marian.read(folder, {}), find_target("npz"), tmp_path / "weights.npz", {}).notes
    assert any("settings of decoding (generation_config.json) stay behind" in note for note in notes)


def test_settings_in_the_config_of_an_older_folder(folder):
    """config.json counts where there is no generation_config.json, as it does for ``transformers``."""
    spoil(folder / "config.json", no_repeat_ngram_size=3, bad_words_ids=[[6]])
    assert marian.read(folder, {}).generation.no_repeat_ngram_size == 0
    (folder / "generation_config.json").unlink()
    model = marian.read(folder, {})
    assert model.config == SMALL and model.generation == GenerationConfig(no_repeat_ngram_size=3, bad_words_ids=((6,),))
