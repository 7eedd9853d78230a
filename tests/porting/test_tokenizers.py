"""Tokenizers in folders of ``transformers``: AutoTokenizer's ids on 500 lines of five scripts, of today's files and of old."""

import pytest

from elsewhere import elsewhere
from porting.five_scripts import COUNT, lines
from porting.hugging_face import SMALL
from porting.on_backend import sentences
from porting.transformers_tokenizers import KINDS
from transformer_mb.porting.families.tokenizer_files import read_words

TEXTS = lines()
LANGUAGES = {
    "mbart": {"source_language": "fr_XX", "target_language": "en_XX"},
    "mbart-50": {"source_language": "fr_XX", "target_language": "en_XX"},
    "nllb": {"source_language": "fra_Latn", "target_language": "eng_Latn"},
    "m2m100": {"source_language": "fr", "target_language": "en"},
}
FOLDERS = [name for kind in KINDS for name in (kind, f"{kind}-old")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folders of all kinds, AutoTokenizer's ids, and how many tokens it has."""
    folder = tmp_path_factory.mktemp("tokenizers")
    arrays, facts = elsewhere("porting.transformers_tokenizers:made", folder=folder, lines=TEXTS)
    return folder, {name: sentences(array) for name, array in arrays.items()}, facts


def config_of(rows):
    return SMALL.replace(
        source_vocab_size=rows, target_vocab_size=rows, suppress_ids=(), pad_id=1, eos_id=2, decoder_start_id=2
    )


def read(made, name, rows=None, **settings):
    folder, _, facts = made
    return read_words(folder / name, config_of(rows or facts[name][0]), settings)


def test_the_lines_are_what_they_should_be():
    assert len(TEXTS) == COUNT == len(set(TEXTS))
    assert all(
        sum(low <= char <= high for line in TEXTS for char in line) > 500
        for low, high in ("az", "ая", "αω", "اي", "अह", "一龥")
    )


@pytest.mark.parametrize("name", FOLDERS)
def test_the_ids_are_those_of_auto_tokenizer(name, made):
    words = read(made, name, **LANGUAGES.get(name.removesuffix("-old"), {}))
    assert words.problem == ""
    assert [words.source.framed(words.source.encode(line)) for line in TEXTS] == made[1][name]
