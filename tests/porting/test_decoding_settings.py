"""What a MarianMT folder says about decoding: carried, noted, or refused."""

import json

import pytest

from porting.hugging_face import SMALL, STEPS, small_marian
from porting.small_model import on_numpy, refused, spoil
from transformer_mb.porting.families import marian


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
    "min_length": 3,
    "min_new_tokens": 1,
    "do_sample": True,
    "begin_suppress_tokens": [4],
    "repetition_penalty": 1.2,
    "no_repeat_ngram_size": 3,
    "encoder_no_repeat_ngram_size": 2,
    "forced_bos_token_id": 2,
    "forced_eos_token_id": 3,
    "forced_decoder_ids": [[1, 2]],
    "sequence_bias": [[[2], -3.0]],
    "guidance_scale": 2.0,
    "bad_words_ids": [[6], [1, 2]],
}


@pytest.mark.parametrize("name", CHANGING)
def test_decoding_that_changes_tokens_is_refused_until_it_is_agreed(name, folder):
    spoil(folder / "generation_config.json", **{name: CHANGING[name]})
    refused(f'{name} = .*other tokens.*"drop_decoding": \\["{name}"\\]', marian.read, folder, {})
    model = marian.read(folder, {"drop_decoding": [name]})
    assert any(name in note and "dropped" in note for note in model.notes)
    assert model.native.settings["generation"].get(name) in (None, [[6]])


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


def test_what_whoever_decodes_chooses_is_noted_and_neutral_values_are_not(folder):
    neutral = {"repetition_penalty": 1.0, "do_sample": False, "min_length": 0, "num_beams": 1, "return_dict_in_generate": True}
    spoil(folder / "generation_config.json", **neutral, eos_token_id=[0], transformers_version="5.23.0")
    assert not [note for note in marian.read(folder, {}).notes if "generation_config" in note]
    spoil(folder / "generation_config.json", num_beams=4, max_length=512, early_stopping=True, brand_new_knob=1)
    notes = " ".join(marian.read(folder, {}).notes)
    assert "sets num_beams = 4, early_stopping = True, max_length = 512: whoever decodes chooses these" in notes
    assert "holds brand_new_knob, not known here" in notes
    refused("drop_decoding must name what .* got min_length", marian.read, folder, {"drop_decoding": ["min_length"]})


def test_settings_in_the_config_of_an_older_folder(folder):
    """config.json counts where there is no generation_config.json, as it does for ``transformers``."""
    spoil(folder / "config.json", no_repeat_ngram_size=3, bad_words_ids=[[6]])
    assert marian.read(folder, {}).config == SMALL
    (folder / "generation_config.json").unlink()
    refused("no_repeat_ngram_size = 3", marian.read, folder, {})
