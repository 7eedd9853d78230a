"""Tokenizers that somebody else has made: what they lack is added, nothing in them is random, and none ends the program."""

import base64
import json
import os
import subprocess
import sys
from random import Random

import pytest
from tokenizers import Tokenizer

from transformer_mb.data import SubwordVocabulary, Vocabulary, train_subwords
from transformer_mb.data.tokenizer_json import amended
from transformer_mb.errors import DataError

LETTERS = "abdehgot "


def of(model, added=(), **parts):
    tokens = [{"id": number, "content": name} for name, number in added]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    fields = {"version": "1.0", "added_tokens": [{**one, **flags, "special": True} for one in tokens], "model": model}
    parts = {**dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")), **parts}
    return json.dumps({**fields, **parts}).encode()


def bpe(*tokens, merges=(), **more):
    names = [*tokens, *LETTERS, *("".join(pair) for pair in merges)]
    return {"type": "BPE", "vocab": {name: n for n, name in enumerate(names)}, "merges": list(map(list, merges)), **more}


UNIGRAM = {"type": "Unigram", "vocab": [["<s>", 0.0], ["</s>", 0.0], *([one, -2.0] for one in LETTERS)]}
WORDS = {"<s>": 0, "</s>": 1, "the": 2, "dog": 3}
WHITESPACE = {"type": "Whitespace"}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
PIECES = {"unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9}
KINDS = {
    "BPE without": of(bpe("<s>", "</s>")),
    "BPE with the name alone": of(bpe("<s>", "</s>", "<unk>")),
    "BPE with the name as an added token": of(bpe("<s>", "</s>"), [("<unk>", 11)]),
    "BPE whose own is missing": of(bpe("<s>", "</s>", unk_token="<other>")),
    "BPE of some bytes": of(bpe("<s>", "</s>"), pre_tokenizer=BYTES),
    "Unigram": of(UNIGRAM),
    "WordLevel": of({"type": "WordLevel", "vocab": WORDS, "unk_token": "<unk>"}, pre_tokenizer=WHITESPACE),
    "WordPiece": of({"type": "WordPiece", "vocab": WORDS, **PIECES}, pre_tokenizer=WHITESPACE),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_what_a_tokenizer_does_not_know_is_unknown_and_not_gone(name):
    vocabulary = SubwordVocabulary("tokenizers", KINDS[name])
    assert vocabulary.unk_id not in (vocabulary.pad_id, vocabulary.eos_id)
    assert vocabulary.unk_id not in vocabulary.encode("the dog")[:1]
    assert set(vocabulary.encode("\u03a9")) == {vocabulary.unk_id}
    own = Tokenizer.from_str(vocabulary.content.decode())  # what a checkpoint and an export keep, for the library itself
    assert tuple(own.id_to_token(number) for number in range(own.get_vocab_size())) == vocabulary.entries
    again = SubwordVocabulary("tokenizers", vocabulary.content, vocabulary.entries, vocabulary.special)
    assert again == vocabulary and again.encode("a\u03a9b") == vocabulary.encode("a\u03a9b")


def test_a_tokenizer_without_padding_gets_one_as_sentencepiece_does():
    vocabulary = SubwordVocabulary("tokenizers", of(bpe("<s>", "</s>", "<unk>")))
    assert vocabulary.entries[-1] == "<pad>" and vocabulary.special == {"unk": 2, "pad": 12, "bos": 0, "eos": 1}
    assert vocabulary.pad_id not in vocabulary.encode("<pad> a") and vocabulary.decode([3, 12]) == "a"


def test_tokens_that_a_checkpoint_lists_stay_those():
    """Where a file was taken before without a token for what is unknown, its ids are not others now."""
    entries = ["<s>", "</s>", "<pad>", *LETTERS]
    content = of(bpe("<s>", "</s>", "<pad>"))
    assert SubwordVocabulary("tokenizers", content, entries).entries == tuple(entries)
    assert SubwordVocabulary("tokenizers", content).entries == (*entries, "<unk>")


def test_all_bytes_need_no_unknown_token():
    own = train_subwords(["the dog"] * 9, 300)
    assert own.encode("\u03a9") and own.unk_id not in own.encode("\u03a9")
    fallback = [f"<0x{number:02X}>" for number in range(256)]
    names = {name: number for number, name in enumerate(["<s>", "</s>", "<pad>", *fallback])}
    model = {"type": "BPE", "vocab": names, "merges": [], "byte_fallback": True}
    vocabulary = SubwordVocabulary("tokenizers", of(model))
    assert len(vocabulary) == 259 and vocabulary.encode("\u03a9") == [3 + 0xCE, 3 + 0xA9]


def test_dropout_in_a_tokenizer_is_off():
    merges = [("t", "h"), ("th", "e"), ("d", "o"), ("do", "g")]
    content = of(bpe("<s>", "</s>", "<pad>", "<unk>", merges=merges, dropout=0.5, unk_token="<unk>"))
    vocabulary = SubwordVocabulary("tokenizers", content)
    assert {tuple(vocabulary.pieces("the dog")) for _ in range(50)} == {("the", " ", "dog")}


def charsmap(size, *units):
    blob = size.to_bytes(4, "little") + b"".join(unit.to_bytes(4, "little") for unit in units)
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}


def replacing(pattern, content, times=1):
    one = {"type": "Replace", "pattern": pattern, "content": content}
    return {"type": "Sequence", "normalizers": [one] * times}


DOUBLING = {"type": "Replace", "pattern": {"String": "q"}, "content": "qq"}
GOOD = bpe("<s>", "</s>", "<pad>", "<unk>", unk_token="<unk>")
MARKS = "\u00bd\u2026\u2122\u20ac\u00a9\u00ae\u00b5\u2030"
HOSTILE = {
    "a trie that points anywhere": of(GOOD, normalizer=charsmap(16, *[0xFFFFFFFF] * 4)),
    "a trie of 2 GB": of(GOOD, normalizer=charsmap(0x7FFFFFFF, 1, 2, 3)),
    "no trie": of(GOOD, normalizer=charsmap(0)),
    "letters that double": of(GOOD, normalizer=replacing({"String": "q"}, "qq", 24)),
    "every letter a book": of(GOOD, normalizer=replacing({"Regex": "."}, "a" * 10_000)),
    "a book before every text": of(GOOD, normalizer={"type": "Prepend", "prepend": "a" * 1_000_000}),
    "pieces that double": of(GOOD, decoder={"type": "Sequence", "decoders": [{**DOUBLING}] * 24}),
    "an expression that never ends": of(GOOD, normalizer=replacing({"Regex": "(a+)+$"}, "b")),
    "deep": b'{"model":' + b"[" * 100_000,
    "deep parts": of(GOOD, normalizer={}).replace(b"{}", b'{"a":[' * 400 + b"1" + b"]}" * 400),
    "a list": b"[]",
    "no model": b'{"added_tokens": []}',
    "a model of another kind": of({"type": "BPE", "vocab": [], "merges": 7}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_tokenizer_that_would_end_the_program_is_refused_in_a_sentence(name, tmp_path, capfd):
    (tmp_path / "a.json").write_bytes(HOSTILE[name])
    try:
        vocabulary = SubwordVocabulary.from_file(tmp_path / "a.json")
        for text in ("the dog", "a" * 40 + "!"):
            vocabulary.decode(vocabulary.encode(text))
    except DataError as error:
        assert "\n" not in str(error) and len(str(error)) < 900
    else:
        assert name == "no trie"
    assert "Traceback" not in capfd.readouterr().err


def test_many_replacements_that_do_not_build_on_one_another_are_harmless():
    parts = [{"type": "Replace", "pattern": {"String": mark}, "content": "abe"} for mark in MARKS]
    vocabulary = SubwordVocabulary("tokenizers", of(GOOD, normalizer={"type": "Sequence", "normalizers": parts}))
    assert vocabulary.pieces("\u2026g") == ["a", "b", "e", "g"]
    with pytest.raises(DataError, match="must have at most 1,000 replacements, got 2,000"):
        SubwordVocabulary("tokenizers", of(GOOD, normalizer={"type": "Sequence", "normalizers": parts[:1] * 2000}))


def test_a_crash_at_one_text_is_an_error_of_that_text(monkeypatch):
    """A panic in Rust is no Exception. The texts that it is tried on do not find every one."""
    monkeypatch.setattr("transformer_mb.data.subword_models.check_reading", lambda *given: None)
    vocabulary = SubwordVocabulary("tokenizers", HOSTILE["an expression that never ends"])
    assert vocabulary.encode("the dog")
    with pytest.raises(DataError, match=r"The tokenizer cannot make tokens of 'aaa.*"):
        vocabulary.encode("a" * 40 + "!")


PROGRAM = """
import os, resource, sys
from transformer_mb.data import tokenizer_json
from transformer_mb.errors import DataError
tokenizer_json.PROGRAM = sys.argv[1]
try:
    tokenizer_json.check_reading("json", b"{}")
except DataError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os.abort()", "was ended by SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "was ended by SIGSEGV"),
        ("import sys; sys.exit('it takes more memory')", "ended with status 1; its stderr ends with: it takes more memory"),
    ],
)
def test_the_process_that_tries_it_says_how_it_ended(program, words):
    done = subprocess.run([sys.executable, "-c", PROGRAM, program], capture_output=True, text=True, env=os.environ)
    assert words in done.stdout and done.stderr == ""


def test_a_special_tokens_name_in_a_text_of_words_is_an_unknown_word():
    vocabulary = Vocabulary.from_tokens([["il", "est", "."]])
    assert vocabulary.encode("il est <eos> <pad> <bos> <unk> .") == [4, 5, 0, 0, 0, 0, 6]
    assert vocabulary.ids(["<eos>", "<pad>"]) == [3, 1]  # whoever asks for the tokens themselves gets them
    with_others = Vocabulary(["</s>", "<unk>", "x", "<pad>"], "words", {"unk": 1, "pad": 3, "bos": 3, "eos": 0})
    assert with_others.encode("x </s> <pad> <eos>") == [2, 1, 1, 1]


@pytest.mark.parametrize("name", ["BPE without", "BPE of some bytes", "Unigram", "WordPiece"])
def test_values_of_any_kind_in_any_place_raise_nothing_else(name):
    """Before its library reads the file, which says the rest."""
    alphabet, random = list("abc"), Random(0)
    parts = {"normalizer": replacing({"String": "q"}, "qq", 2), "decoder": DOUBLING}
    for _ in range(400):
        fields = {**json.loads(KINDS[name]), **parts}
        place, key = random.choice(list(places(fields)))
        place[key] = random.choice([None, [], {}, [[]], {"a": []}, -1, 1e9, 2**70, "", "\ud800", True, [None], "q"])
        try:
            content, unknown = amended(json.dumps(fields).encode(), alphabet)
        except DataError:
            continue
        assert isinstance(json.loads(content), dict) and isinstance(unknown, str | None)


def places(inside):
    for key, value in list(inside.items() if isinstance(inside, dict) else enumerate(inside)):
        yield inside, key
        if isinstance(value, dict | list):
            yield from places(value)
