"""Vocabularies: D2L's order and sizes, and the JSON form."""

import json

import pytest

import transformer_mb as tmb
from transformer_mb.data import Vocabulary, build_vocabularies, encode_pairs, read_pairs
from transformer_mb.errors import DataError, TokenError

LISTS = [["b", "a", "c"], ["a", "c", "d"], ["c", "<eos>"]]
SPECIALS = ["<unk>", "<pad>", "<bos>", "<eos>"]


def test_special_tokens_come_first_then_the_most_frequent_then_the_first_seen():
    vocabulary = Vocabulary.from_tokens(LISTS)
    assert list(vocabulary.entries) == [*SPECIALS, "c", "a", "b", "d"]
    assert (vocabulary.unk_id, vocabulary.pad_id, vocabulary.bos_id, vocabulary.eos_id) == (0, 1, 2, 3)
    assert len(vocabulary) == 8 and "c" in vocabulary and "z" not in vocabulary


@pytest.mark.parametrize(("min_freq", "kept"), [(1, ["c", "a", "b", "d"]), (2, ["c", "a"]), (3, ["c"]), (4, [])])
def test_rare_tokens_are_left_out(min_freq, kept):
    assert list(Vocabulary.from_tokens(iter(LISTS), min_freq).entries) == [*SPECIALS, *kept]


def test_ids_and_tokens():
    vocabulary = Vocabulary.from_tokens(LISTS, 2)
    assert vocabulary.ids(["a", "z", "<bos>", "c"]) == [5, 0, 2, 4]
    assert vocabulary.tokens([5, 0, 2]) == ["a", "<unk>", "<bos>"]
    assert vocabulary.encode(" c  z a\n") == [4, 0, 5]
    assert vocabulary.decode([2, 4, 0, 5, 3, 1, 1]) == "c <unk> a"


@pytest.mark.parametrize("wrong", [-1, 6])
def test_an_id_outside_is_named(wrong):
    with pytest.raises(TokenError, match=f"must be from 0 to 5, got {wrong}"):
        Vocabulary.from_tokens(LISTS, 2).tokens([4, wrong])


def test_a_text_where_tokens_belong_is_refused():
    with pytest.raises(TokenError, match="a list of tokens, got the text 'a c'"):
        Vocabulary.from_tokens(LISTS).ids("a c")


def test_json_keeps_everything():
    vocabulary = Vocabulary([*SPECIALS, "é", '"', "\u2028"], "d2l", {"unk": 1, "pad": 6, "bos": 6, "eos": 0})
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again == vocabulary and again.entries == vocabulary.entries
    assert again.pipeline.name == "d2l" and (again.pad_id, again.bos_id, again.eos_id) == (6, 6, 0)
    assert again != Vocabulary(vocabulary.entries, "words", vocabulary.special)
    assert again != Vocabulary(vocabulary.entries, "d2l")


def fields(**changes):
    good = {"tokens": [*SPECIALS, "a"], "pipeline": "words", "special": {"unk": 0, "pad": 1, "bos": 2, "eos": 3}}
    return json.dumps({**good, **changes})


def test_the_json_form_is_an_object_of_three_fields():
    assert Vocabulary.from_json(fields()) == Vocabulary.from_tokens([["a"]])
    assert json.loads(Vocabulary.from_tokens([["a"]]).to_json()) == json.loads(fields())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "The vocabulary is not JSON"),
        ("[" * 100_000, "The vocabulary is not JSON"),
        ("[]", "the fields tokens, pipeline, special, got list"),
        ("{}", "the fields tokens, pipeline, special, got none"),
        ('{"tokens": []}', "the fields tokens, pipeline, special, got 'tokens'"),
        (fields(extra=1), "got 'tokens', 'pipeline', 'special', 'extra'"),
        (fields(tokens="abc"), "tokens must be a list, got 'abc'"),
        (fields(tokens=[*SPECIALS, 5]), "Every token of a vocabulary must be a string, but token 4 is 5"),
        (fields(tokens=[*SPECIALS, ["a"]]), "Every token of a vocabulary must be a string, but token 4 is ['a']"),
        (fields(tokens=[*SPECIALS, "a", "a"]), "must differ, but 'a' has the ids 4 and 5"),
        (fields(pipeline=3), "pipeline must be a str, got 3"),
        (fields(pipeline="bpe"), "must be one of d2l, words, characters, got 'bpe'"),
        (fields(special=[]), "special must be a dict, got []"),
        (fields(special={"unk": 0}), "must be unk, pad, bos, eos, got 'unk'"),
        (fields(special={"unk": 0, "pad": 1, "bos": 2, "eos": 5}), "eos must be from 0 to 4, got 5"),
        (fields(special={"unk": 0, "pad": 1, "bos": 2, "eos": True}), "eos must be from 0 to 4, got True"),
        (fields(special={"unk": 0, "pad": -1, "bos": 2, "eos": 3}), "pad must be from 0 to 4, got -1"),
    ],
)
def test_a_wrong_file_is_explained(text, words):
    with pytest.raises(DataError) as caught:
        Vocabulary.from_json(text)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_both_sides_of_a_corpus():
    pairs = [("Go on.", "Va."), ("Go.", "Va !")]
    source, target = build_vocabularies(pairs, "d2l")
    assert source.entries[4:] == ("go", ".", "on") and target.entries[4:] == ("va", ".", "!")
    shared, same = build_vocabularies(pairs, "d2l", 2, shared=True)
    assert shared is same and shared.entries[4:] == (".", "go", "va")


# What d2l 0.17.6 itself gave for the first lines of the file: number of pairs, min_freq, vocabulary sizes, the last
# tokens of each, valid tokens of each side at num_steps = 10.
BOOK = [
    (600, 1, 192, 483, ["bald", "cold"], ["occupée", "froid"], 2339, 2310),
    (600, 2, 139, 183, ["pay", "busy"], ["refuse", "vu"], 2339, 2310),
    (5000, 2, 847, 1225, ["rational", "reformed"], ["99%", "agriculteur"], 22243, 23897),
]


@pytest.mark.parametrize(("pairs", "min_freq", "sources", "targets", "last_source", "last_target", "left", "right"), BOOK)
def test_the_books_vocabularies_and_arrays(
    shared_data, pairs, min_freq, sources, targets, last_source, last_target, left, right
):
    corpus = read_pairs(shared_data / "tatoeba" / "eng-fra.tsv", num_examples=pairs)
    source, target = build_vocabularies(corpus, "d2l", min_freq)
    assert (len(source), len(target)) == (sources, targets)
    assert source.tokens([sources - 2, sources - 1]) == last_source
    assert target.tokens([targets - 2, targets - 1]) == last_target
    arrays = encode_pairs(corpus, source, target, 10)
    assert (arrays.source_valid_lens.sum(), arrays.target_valid_lens.sum()) == (left, right)


def test_the_books_first_and_last_rows(shared_data):
    corpus = read_pairs(shared_data / "tatoeba" / "eng-fra.tsv", num_examples=600)
    source, target = build_vocabularies(corpus, "d2l", 2)
    assert source.entries[4:14] == (".", "!", "get", "it", "i", "go", "away", "be", "out", "on")
    assert target.entries[4:14] == ("!", ".", "je", "suis", "à", "j'ai", "soyez", "nous", "?", "va")
    arrays = encode_pairs(corpus, source, target, 10)
    assert arrays.source[[0, -1]].tolist() == [[9, 4, 3, 1, 1, 1, 1, 1, 1, 1], [17, 0, 4, 3, 1, 1, 1, 1, 1, 1]]
    assert arrays.target[[0, -1]].tolist() == [[13, 4, 3, 1, 1, 1, 1, 1, 1, 1], [9, 0, 5, 3, 1, 1, 1, 1, 1, 1]]
    # Sums weighted by column, so that a shifted or reordered row shows.
    assert (arrays.source * range(1, 11)).sum() == 95671
    assert (arrays.target * range(1, 11)).sum() == 126604


@pytest.mark.parametrize(
    ("wrong", "got"), [([], "got no token"), ("abc", "got a str"), (None, "got a NoneType"), (3, "got a int")], ids=str
)
def test_a_vocabulary_without_tokens_is_refused(wrong, got):
    with pytest.raises(DataError, match=f"vocabulary must .*{got}"):
        tmb.Vocabulary(wrong)
