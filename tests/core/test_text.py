"""Text pipelines; the expected tokens of ``d2l`` are what the book's own functions gave for these texts."""

import pytest

from transformer_mb.data import TEXT_PIPELINES, preprocess_nmt, text_pipeline, tokenize
from transformer_mb.errors import DataError

BOOK = {
    "Go.": ["go", "."],
    "Va !": ["va", "!"],
    "Va\u202f!": ["va", "!"],
    "Ça va\xa0?": ["ça", "va", "?"],
    "Hello, world!!": ["hello", ",", "world", "!", "!"],
    "...": [".", ".", "."],
    "It's 3.5 km": ["it's", "3", ".5", "km"],
    "a  b": ["a", "", "b"],
    "a\u2009b": ["a\u2009b"],
    "": [""],
}


@pytest.mark.parametrize(("text", "tokens"), BOOK.items())
def test_the_books_tokens(text, tokens):
    assert tokenize(preprocess_nmt(text)) == tokens
    assert text_pipeline("d2l").encode(text) == [token for token in tokens if token]


def test_what_a_user_types_may_have_any_spacing():
    encode = text_pipeline("d2l").encode
    assert encode("  Go   home .\n") == encode("go home.") == ["go", "home", "."]
    assert encode("go\thome\r\n") == ["go", "home"]


def test_words_keep_their_case_and_punctuation():
    assert text_pipeline("words").encode(" The cat, l' \u202f chat \n") == ["The", "cat,", "l'", "chat"]


@pytest.mark.parametrize("name", TEXT_PIPELINES)
def test_detokenized_text_gives_the_tokens_again(name):
    pipeline = text_pipeline(name)
    tokens = pipeline.encode("Wait... do you cost 3.5, \xa0 or 4?! L'eau.")
    assert pipeline.encode(pipeline.detokenize(tokens)) == tokens
    assert name == "characters" or "  " not in pipeline.detokenize(tokens)


def test_characters_lose_nothing():
    text = "  L'été,\t\u2581 \u0301 "
    pipeline = text_pipeline("characters")
    assert pipeline.encode(text) == list(text) and pipeline.detokenize(list(text)) == text


def test_an_unknown_pipeline_is_named_with_those_that_exist():
    with pytest.raises(DataError, match="must be one of d2l, words, characters, got 'sentencepiece'"):
        text_pipeline("sentencepiece")
