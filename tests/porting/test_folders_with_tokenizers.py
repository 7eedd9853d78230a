"""Folders of T5, ByT5 and Llama with their tokenizers: through a checkpoint and back, and those that contradict themselves."""

import io
import json
from functools import cache

import pytest
import sentencepiece

from porting.family_models import ROWS, config_of
from porting.five_scripts import lines
from porting.small_model import refused, single
from porting.t5_and_llama_tokenizers import LLAMA, T5
from porting.transformers_tokenizers import PIECES
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.rows.drawn_values import random_weights
from transformer_mb.porting.families import canonical
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.model import PortedModel

IDS = {
    "t5": {"pad_id": 0, "eos_id": 1, "decoder_start_id": 0, "bos_id": 0},
    "mt5": {"pad_id": 0, "eos_id": 1, "decoder_start_id": 0, "bos_id": 0},
    "llama": {"pad_id": 2, "eos_id": 2, "bos_id": 1},
    "mistral": {"pad_id": 2, "eos_id": 2, "bos_id": 1},
}
LINE = "Two  young, white  males <extra_id_1>\u00e9\u6f22 \U0001f642 are outside."


@cache
def pieces(kind, size):
    """A small SentencePiece model, trained once."""
    model = io.BytesIO()
    options = {**PIECES, "vocab_size": size, **{"t5": T5, "llama": LLAMA, "endless": {**T5, "eos_id": -1, "unk_id": 1}}[kind]}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines()[:200]), model_writer=model, **options)
    return model.getvalue()


def folder_of(family, place, rows, files):
    """A small model of so many rows, with files beside it: bytes, or what is written as JSON."""
    config = config_of(family)
    sides = [f"{side}_vocab_size" for side in ("source", "target") if getattr(config, f"{side}_vocab_size")]
    config = config.replace(**dict.fromkeys(sides, rows), **IDS[family])
    place.mkdir()
    ROWS[family].write(PortedModel(config=config, weights=single(random_weights(parameter_shapes(config)))), place)
    for name, content in files.items():
        (place / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return place


def json_of(family):
    """A tokenizer.json of 40 tokens as either family's begins."""
    names = {"t5": ["<pad>", "</s>", "<unk>"], "llama": ["<unk>", "<s>", "</s>"]}[family]
    entries = [*names, *"\u2581abcdefghijklmnopqrstuvwxyz.,", *(f"<extra_id_{number}>" for number in range(6, -1, -1))]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    special = [number for number, name in enumerate(entries) if name.startswith("<")]
    of_t5 = {"type": "Unigram", "unk_id": 2, "vocab": [[name, -1.0 - number / 9] for number, name in enumerate(entries)]}
    of_llama = {"type": "BPE", "unk_token": "<unk>", "vocab": {name: at for at, name in enumerate(entries)}, "merges": []}
    frame = {"t5": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}]}
    frame["llama"] = [{"SpecialToken": {"id": "<s>", "type_id": 0}}, frame["t5"][0]]
    named = {"t5": "</s>", "llama": "<s>"}[family]
    framed = {"id": named, "ids": [1], "tokens": [named]}
    space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": family == "t5"}
    return {
        **{"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": space, "decoder": space},
        "added_tokens": [{"id": number, "content": entries[number], **flags, "special": True} for number in special],
        "post_processor": {
            **{"type": "TemplateProcessing", "single": frame[family], "pair": frame[family]},
            "special_tokens": {named: framed},
        },
        "model": {"t5": of_t5, "llama": of_llama}[family],
    }


OF_T5, OF_LLAMA = {"tokenizer_class": "T5Tokenizer", "extra_ids": 9}, {"tokenizer_class": "LlamaTokenizer"}
NAMED = {"eos_token": "</s>", "pad_token": "<pad>"}
OF_BYTES = {"tokenizer_class": "ByT5Tokenizer", "extra_ids": 5}
# By name: the family, rows, and files.
WHOLE = {
    "spiece.model": ("t5", 409, lambda: {"spiece.model": pieces("t5", 400), "tokenizer_config.json": OF_T5}),
    "of mT5": (
        "mt5",
        400,
        lambda: {"spiece.model": pieces("t5", 400), "tokenizer_config.json": {**OF_T5, "extra_ids": 0}},
    ),
    "T5's tokenizer.json": ("t5", 41, lambda: {"tokenizer.json": json_of("t5"), "special_tokens_map.json": NAMED}),
    "bytes": ("t5", 264, lambda: {"tokenizer_config.json": OF_BYTES, "special_tokens_map.json": NAMED}),
    "tokenizer.model": ("llama", 500, lambda: {"tokenizer.model": pieces("llama", 500), "tokenizer_config.json": OF_LLAMA}),
    "Mistral's, without a class": ("mistral", 500, lambda: {"tokenizer.model": pieces("llama", 500)}),
    "Llama's tokenizer.json": ("llama", 39, lambda: {"tokenizer.json": json_of("llama")}),
    "with a token more": (
        "llama",
        501,
        lambda: {**of_llama()(), "added_tokens.json": {"[PAD]": 500}},
    ),
}


@pytest.mark.parametrize("case", WHOLE)
def test_a_folder_through_a_checkpoint_and_back_has_its_files_and_makes_the_same_text(case, tmp_path):
    family, rows, files = WHOLE[case]
    folder = folder_of(family, tmp_path / "folder", rows, files())
    for before, after, write in (("folder", "model", canonical.write), ("model", "back", ROWS[family].write)):
        (tmp_path / after).mkdir()
        write(read_source(tmp_path / before, None, {}).model, tmp_path / after)
    for name in files():
        assert (tmp_path / "back" / name).read_bytes() == (folder / name).read_bytes()
    words = [read_source(tmp_path / name, None, {}).model.target_vocabulary for name in ("folder", "model", "back")]
    ids = [one.framed(one.encode(LINE)) for one in words]
    assert ids[0] == ids[1] == ids[2] and len(ids[0]) > 10
    texts = [one.decode(ids[0]) for one in words]
    assert texts[0] == texts[1] == texts[2] and "young, white" in texts[0]


def test_a_llama_whose_files_do_not_say_it_begins_a_text_with_its_first_token(tmp_path):
    """As Meta's own code does, and release 4; release 5 does so where add_bos_token is true."""
    words = read_source(folder_of("llama", tmp_path / "folder", 500, of_llama()()), None, {}).model.target_vocabulary
    assert words.framed([5]) == [1, 5]


def without(*tokens):
    """T5's tokenizer.json without some of its sentinels; those that follow move up."""
    made = json_of("t5")
    kept = [one for one in made["model"]["vocab"] if one[0] not in tokens]
    numbers = {name: number for number, (name, _) in enumerate(kept)}
    added = [{**one, "id": numbers[one["content"]]} for one in made["added_tokens"] if one["content"] in numbers]
    return {**made, "model": {**made["model"], "vocab": kept}, "added_tokens": added}


def endless():
    return {"spiece.model": pieces("endless", 400), "tokenizer_config.json": OF_T5}


def of_t5(**fields):
    return lambda: {"spiece.model": pieces("t5", 400), "tokenizer_config.json": {**OF_T5, **fields}}


def of_llama(**files):
    return lambda: {"tokenizer.model": pieces("llama", 500), "tokenizer_config.json": OF_LLAMA, **files}


TABLE, ADDED = "added_tokens_decoder", "added_tokens.json"
# By name: the family, rows, files, and the words of the note with which the tokenizer is left out.
LEFT_OUT = {
    "more pieces than rows": ("t5", 350, of_t5(), "it gives 409 tokens for 350 rows of the embedding"),
    "rows of another vocabulary": ("t5", 900, of_t5(), "it gives 409 tokens for 900 rows"),
    "more sentinels than rows": ("t5", 409, of_t5(extra_ids=100), "it gives 500 tokens for 409 rows"),
    "Llama's beside a T5": (
        "t5",
        39,
        lambda: {"tokenizer.json": json_of("llama")},
        "its end token '</s>' must have the model's",
    ),
    "Llama's model beside a T5": ("t5", 500, of_llama(), "its end token '</s>' must have the model's eos_token_id 1"),
    "a sentinel that is missing": (
        "t5",
        38,
        lambda: {"tokenizer.json": without("<extra_id_3>"), "tokenizer_config.json": {**OF_T5, "extra_ids": 7}},
        "it must have extra_ids = 7 sentinels, but <extra_id_3> is not there",
    ),
    "no end token": ("t5", 409, endless, "it has no token '</s>'"),
    "bytes and too few rows": ("t5", 258, lambda: {"tokenizer_config.json": OF_BYTES}, "it gives 264 tokens for 258 rows"),
    "a class that is not known": (
        "t5",
        409,
        of_t5(tokenizer_class="MyTokenizer"),
        "around a text of a MyTokenizer is not known",
    ),
    "no beginning": (
        "llama",
        500,
        of_llama(**{"tokenizer_config.json": {**OF_LLAMA, "add_bos_token": True, "bos_token": "<begin>"}}),
        "it has no token '<begin>'",
    ),
    "no file": ("llama", 500, lambda: {}, "There is no tokenizer.json and no other tokenizer"),
}
# The same of those that are refused.
REFUSED = {
    "a model cut short": (
        "t5",
        409,
        lambda: {"spiece.model": pieces("t5", 400)[:3000], "tokenizer_config.json": OF_T5},
        "spiece.model: A SentencePiece model was expected",
    ),
    "ranks of tiktoken": ("llama", 500, lambda: {"tokenizer.model": b"IQ== 0\nIg== 1\n"}, "A SentencePiece model was expected"),
    "no whole number of sentinels": ("t5", 409, of_t5(extra_ids="many"), "extra_ids of the tokenizer must be from 0 to"),
    "sentinels without end": ("t5", 409, of_t5(extra_ids=10**9), "extra_ids of the tokenizer must be from 0 to 10000"),
    "a first token of two names": ("t5", 409, of_t5(**{TABLE: {"0": "<s>"}}), "token 0 of .* must have one name"),
    "a token of two names": ("t5", 409, of_t5(**{TABLE: {"1": {"content": "<end>"}}}), "token 1 of .* must have one name"),
    "a sentinel of another name": ("t5", 409, of_t5(**{TABLE: {"408": "<sep>"}}), "it is '<extra_id_0>' in the .* '<sep>'"),
    "a number without end": (
        "llama",
        500,
        of_llama(**{ADDED: {"[PAD]": 10**8}}),
        "must be at most 10,000 past the vocabulary's 500",
    ),
    "a number that is none": (
        "llama",
        500,
        of_llama(**{ADDED: {"[PAD]": "last"}}),
        "must be texts by whole numbers",
    ),
    "a token that is none": ("llama", 500, of_llama(**{ADDED: []}), "added_tokens.json"),
    "a table that is none": ("t5", 409, of_t5(**{TABLE: ["<sep>"]}), "added tokens must be texts by whole numbers, got None"),
    "bytes with one sentinel twice": (
        "t5",
        261,
        lambda: {"tokenizer_config.json": {**OF_BYTES, "additional_special_tokens": ["<a>", "<a>"]}},
        "a token must have one number, but '<a>' has 259 and 260",
    ),
    "settings that are a list": ("t5", 264, lambda: {"tokenizer_config.json": []}, "tokenizer_config.json"),
    "no JSON": ("llama", 39, lambda: {"tokenizer.json": b'{"model": '}, "tokenizer.json"),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_a_tokenizer_of_another_model_is_left_out_in_a_sentence(case, tmp_path):
    family, rows, files, words = LEFT_OUT[case]
    model = read_source(folder_of(family, tmp_path / "folder", rows, files()), None, {}).model
    assert model.target_vocabulary is None and [note for note in model.notes if words in note]


@pytest.mark.parametrize("case", REFUSED)
def test_a_damaged_tokenizer_is_refused_in_a_sentence(case, tmp_path):
    family, rows, files, words = REFUSED[case]
    refused(words or "", read_source, folder_of(family, tmp_path / "folder", rows, files()), None, {})


def test_sentinels_that_are_missing_at_the_end_are_rows_without_token(tmp_path):
    """As rows that only fill up a table; the note says which."""
    made = without(*(f"<extra_id_{number}>" for number in range(4)))
    model = read_source(folder_of("t5", tmp_path / "folder", 39, {"tokenizer.json": made}), None, {}).model
    assert model.notes[0].startswith("The ids 35 to 38 of the embedding stand for no token")
    assert model.target_vocabulary.encode("<extra_id_0>") != [38] and model.config.suppress_ids == (35, 36, 37, 38)
