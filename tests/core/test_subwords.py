"""Subword vocabularies: no text loses anything, no text spells a special token, and what is damaged is explained."""

import io
import json
from itertools import islice

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transformer_mb.data import SubwordVocabulary, demo_sentences, train_subwords
from transformer_mb.data.subwords import read_tokenizers_of
from transformer_mb.errors import ConfigError, DataError, TokenError

SPECIALS = ["<unk>", "<pad>", "<bos>", "<eos>"]
SENTENCES = [side for pair in islice(demo_sentences(), 300) for side in pair]
# What tokenizers are known to lose: spaces, line breaks, control characters, SentencePiece's own space, marks that stand alone.
HARD = [
    "  ",
    " a",
    "a ",
    "\t",
    "\n",
    "\r\n",
    "\x00",
    "\x1c",
    "\x85",
    "\u2028",
    "\u2581",
    "\u0301",
    "\ufeff",
    "\ufffd",
    "ﬁ",
    "Ａ",
]
TEXTS = st.lists(st.one_of(st.text(), st.sampled_from([*HARD, *SPECIALS, "the", "été", "\U0010ffff", "🙂"]))).map("".join)
IDS = st.lists(st.integers(0, 299))


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def vocabulary(request):
    return train_subwords(SENTENCES, 300, request.param)


def sentencepiece_model(texts=SENTENCES, **options):
    from sentencepiece import SentencePieceTrainer

    model, given_options = io.BytesIO(), {"vocab_size": 90, "hard_vocab_limit": False, "minloglevel": 2, **options}
    SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=model, **given_options)
    return model.getvalue()


@pytest.fixture(scope="module")
def pieces():
    return SubwordVocabulary("sentencepiece", sentencepiece_model())


def test_the_special_tokens_come_first_and_every_byte_is_a_token(vocabulary):
    assert vocabulary.tokens(range(4)) == SPECIALS and vocabulary.special == {"unk": 0, "pad": 1, "bos": 2, "eos": 3}
    assert len(vocabulary) == len(set(vocabulary.entries)) == 300
    characters = "".join(map(chr, range(0x250)))
    assert (
        vocabulary.unk_id not in vocabulary.encode(characters)
        and vocabulary.decode(vocabulary.encode(characters)) == characters
    )
    assert sum(len(vocabulary.encode(text)) for text in SENTENCES) < 0.9 * sum(map(len, SENTENCES))  # it has learned something


def lossless(vocabulary, text):
    ids = vocabulary.encode(text)
    assert vocabulary.decode(ids) == text
    assert not set(ids) & set(range(4))
    assert vocabulary.ids(vocabulary.tokens(ids)) == ids == [vocabulary.ids([piece])[0] for piece in vocabulary.pieces(text)]


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
@example(text="<eos>")
@example(text=" <eos><pad> <s></s>")
def test_no_text_loses_anything(vocabulary, text):
    lossless(vocabulary, text)


@pytest.mark.long
@settings(max_examples=10_000, deadline=None)
@given(text=TEXTS)
def test_ten_thousand_texts_lose_nothing(vocabulary, text):
    lossless(vocabulary, text)


def test_special_tokens_that_the_corpus_is_full_of(vocabulary):
    """They are not learned as words either."""
    model = "bpe" if b'"BPE"' in vocabulary.content else "unigram"
    lossless(train_subwords(["<eos> <pad>"] * 100, 300, model), "<eos> <eos><pad>")


@settings(max_examples=150, deadline=None)
@given(ids=IDS)
def test_any_ids_are_some_text(vocabulary, ids):
    text = vocabulary.decode(ids)
    spelled = "".join(vocabulary.tokens(number for number in ids if number > 3))
    assert text == bytes(BYTE_OF[char] for char in spelled).decode("utf-8", "replace")


def byte_alphabet():
    """GPT-2's (Radford et al. 2019): printable bytes are themselves, the others follow from 256 on, in their order."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


BYTE_OF = byte_alphabet()


def test_what_is_no_text_and_no_id(vocabulary, pieces):
    for one in (vocabulary, pieces):
        for wrong in ("\ud800", None, b"a"):
            with pytest.raises(DataError, match="must be a str of Unicode characters, got"):
                one.encode(wrong)
        for wrong in (-1, len(one), 2**40):
            with pytest.raises(TokenError, match=f"from 0 to {len(one) - 1}, got {wrong}"):
                one.decode([wrong])


def test_a_sentencepiece_model_gives_the_librarys_own_ids(pieces):
    from sentencepiece import SentencePieceProcessor

    own = SentencePieceProcessor(model_proto=pieces.content)
    for text in [*SENTENCES[:50], "  A  b ﬁ\t\u0301", "日本 x", ""]:
        assert pieces.encode(text) == own.encode(text)
    ids = own.encode("the dog")
    assert pieces.decode([*ids, pieces.eos_id, pieces.pad_id, pieces.bos_id, pieces.unk_id]) == "the dog" == own.decode(ids)
    assert (pieces.unk_id, pieces.bos_id, pieces.eos_id, pieces.pad_id) == (0, 1, 2, len(own))  # it had no padding
    assert pieces.decode(pieces.encode("  two   spaces ")) == "two spaces"  # its own normalization


def test_no_text_spells_a_special_token_of_sentencepiece():
    """Not even where all of its characters are unknown, and the library gives them as one piece."""
    vocabulary = SubwordVocabulary("sentencepiece", sentencepiece_model(["日本語 日本 語"] * 9, vocab_size=8))
    assert vocabulary.pieces("<pad>") == ["\u2581", "<pad>"]
    for text in ("<pad>", "</s>", "日 <s> <pad>本"):
        assert set(vocabulary.encode(text)) & set(vocabulary.special.values()) == {vocabulary.unk_id}


def test_a_sentencepiece_model_that_loses_nothing():
    exact = {"normalization_rule_name": "identity", "add_dummy_prefix": False, "remove_extra_whitespaces": False}
    vocabulary = SubwordVocabulary("sentencepiece", sentencepiece_model(**exact, byte_fallback=True, vocab_size=400))
    for text in ("  two   spaces ", "日本語\u0301", "\t"):
        assert vocabulary.decode(vocabulary.encode(text)) == text
    assert vocabulary.decode(range(len(vocabulary)))  # bytes in an order that is no UTF-8


def test_training_is_bounded_and_repeatable():
    first, again = (train_subwords(iter(SENTENCES), 280, "bpe") for _ in range(2))
    assert first == again and first.content == again.content and first != train_subwords(SENTENCES, 281)
    read = []
    with pytest.raises(RuntimeError, match="the disk is gone"):
        train_subwords(broken(read))
    assert read  # an error of the corpus is not swallowed
    for size in (259, 0, 300.0):
        with pytest.raises(ConfigError, match="vocab_size must be"):
            train_subwords(SENTENCES, size)
    with pytest.raises(ConfigError, match="model must be one of bpe, unigram, got 'wordpiece'"):
        train_subwords(SENTENCES, 300, "wordpiece")
    with pytest.raises(DataError, match="at least one text, got none"):
        train_subwords(["", "  "])


def broken(read):
    for number in range(5000):
        read.append(number)
        yield "some words"
    raise RuntimeError("the disk is gone")


@pytest.fixture
def place(tmp_path, pieces):
    for name in ("source", "target"):
        (tmp_path / f"{name}.json").write_bytes(train_subwords(SENTENCES, 280).content)
    (tmp_path / "one.model").write_bytes(pieces.content)
    return tmp_path


def test_files_and_folders_of_tokenizers(place, pieces):
    source, target = read_tokenizers_of(place)
    assert source == target == read_tokenizers_of(place / "source.json")[1]
    assert read_tokenizers_of(place / "one.model") == (pieces, pieces)
    (place / "target.json").rename(place / "shared.json")
    with pytest.raises(
        DataError, match=r"must hold shared.json, or source.json and target.json .*got shared.json, source.json"
    ):
        read_tokenizers_of(place)
    (place / "source.json").unlink()
    assert read_tokenizers_of(place) == (source, source)
    (place / "shared.json").rename(place / "other.json")
    with pytest.raises(DataError, match="got none of them"):
        read_tokenizers_of(place)
    for name, words in (
        ("one.txt", "must end in .json or .model or .spm, got"),
        ("none.json", "cannot be read: No such file"),
        ("none", "must be a file or a folder, but there is no .*none"),
        ("one.json", "cannot be used. A tokenizer.json was expected"),
    ):
        if not name.startswith("none"):
            (place / name).write_text("{}")
        with pytest.raises(DataError, match=words):
            read_tokenizers_of(place / name)


def test_a_tokenizer_that_does_not_fit(vocabulary):
    fields = json.loads(vocabulary.content)
    ids = {entry["content"]: entry for entry in fields["added_tokens"]}
    ids["<eos>"]["content"] = "<stop>"
    renamed = vocabulary.content.replace(b'"<eos>"', b'"<stop>"')
    with pytest.raises(DataError, match="must have a token for eos, called <eos> or </s>"):
        SubwordVocabulary("tokenizers", renamed)
    assert SubwordVocabulary("tokenizers", vocabulary.content.replace(b'"<eos>"', b'"</s>"')).eos_id == 3
    with pytest.raises(DataError, match="must be those of its tokenizer, got others"):
        SubwordVocabulary("tokenizers", vocabulary.content, vocabulary.entries[:-1])
    with pytest.raises(DataError, match="kind of a tokenizer must be one of tokenizers, sentencepiece, got 'spm'"):
        SubwordVocabulary("spm", b"")


@settings(max_examples=20, deadline=None)  # each is tried in a process of its own
@given(data=st.data())
def test_damaged_files_raise_nothing_else(vocabulary, pieces, data):
    one = data.draw(st.sampled_from([vocabulary, pieces]))
    start = data.draw(st.integers(0, len(one.content)))
    damaged = one.content[:start] + data.draw(st.binary(max_size=4)) + one.content[start + data.draw(st.integers(0, 9)) :]
    try:
        read = SubwordVocabulary(one.kind, damaged)
    except DataError as error:
        assert "\n" not in str(error)
    else:
        read.decode(read.encode("the dog <eos>"))
        read.decode(range(len(read)))


def test_a_missing_library_is_named(vocabulary, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(DataError, match="need the package tokenizers, which is not installed: pip install"):
        SubwordVocabulary("tokenizers", vocabulary.content)
