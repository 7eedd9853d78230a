"""Bad lines of a corpus, each kind found, named, counted and dropped where that is asked for; and text pipelines."""

import json

import pytest

from transformer_mb.data import TEXT_PIPELINES, BadLines, Pairs, preprocess_nmt, read_pairs, text_pipeline, tokenize
from transformer_mb.data.bad_lines import counts_in_words
from transformer_mb.errors import ConfigError, DataError

REMEDY = "bad_lines drop (--bad-lines drop) leaves such lines out."
ENCODING = "A file of another encoding becomes UTF-8 by iconv, such as iconv -f LATIN1 -t UTF-8."
GOOD = b"Go.\tVa !\n"
LONG = b"a " * 10_001
REFUSED = {
    "no_utf8": b"caf\xe9\tx\n",
    "nul": b"a\0b\tx\n",
    "no_pair": b"no tab\n",
    "long": LONG + b"\tx\n",
}


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("no_utf8", "{0} must be UTF-8 text, but line 2, byte 12 of the whole, is not: invalid continuation byte. {2} {1}"),
        ("nul", "{0}, line 2, must be a line of text, but is one with NUL characters. {1}"),
        ("no_pair", "{0}, line 2: SOURCE TAB TARGET was expected, but there is no tab in 'no tab'."),
        ("long", "{0}, line 2, must be a line of text, but is one of more than 10,000 words or 100,000 characters. {1}"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_on_stops_or_is_dropped(tmp_path, kind, words):
    path = written(tmp_path, "a.tsv", GOOD + REFUSED[kind] + GOOD)
    with pytest.raises(DataError) as caught:
        read_pairs(path)
    assert str(caught.value) == words.format(path, REMEDY, ENCODING)
    pairs = read_pairs(path, bad_lines="drop")
    assert pairs == [("Go.", "Va !")] * 2 and dict(+pairs.bad_lines.counts) == {kind: 1}
    assert len(list(counts_in_words(pairs.bad_lines.counts, "drop"))) == 1


def test_each_kind_is_counted_and_told_in_one_line(tmp_path):
    mark = b"\xef\xbb\xbf"
    content = mark + GOOD + b"".join(2 * line for line in REFUSED.values()) + b"Hi.\r\tSalut.\r\n" + b" \tx\n"
    content += b"bell \x07\tx \xc2\x85\n" + mark + b"Run!\tCours !\r\n"
    pairs = read_pairs(written(tmp_path, "a.tsv", content), bad_lines="drop")
    assert pairs == [("Go.", "Va !"), ("Hi.\r", "Salut."), ("Run!", "Cours !")] and pairs.skipped == 1
    assert list(counts_in_words(pairs.bad_lines.counts, "drop")) == [
        "lines with a blank side: 1 skipped",
        "lines that are no UTF-8 text: 2 dropped",
        "lines that hold no pair: 2 dropped",
        "lines with NUL characters: 2 dropped",
        "lines of more than 10,000 words or 100,000 characters: 2 dropped",
        "lines with control characters: 1 dropped",
        "lines that end in CR LF: 2 read as LF",
        "lines with a carriage return inside: 1 kept",
        "lines that begin with a byte-order mark: 2 read without it",
    ]


def test_lines_with_control_characters_are_kept_and_counted_by_default(tmp_path):
    path = written(tmp_path, "a.tsv", GOOD + b"bell \x07\tx \xc2\x85\n")
    pairs = read_pairs(path)
    assert pairs[1] == ("bell \x07", "x \x85") and pairs.bad_lines.counts["control"] == 1
    assert list(counts_in_words(pairs.bad_lines.counts, "stop")) == ["lines with control characters: 1 kept"]


def test_parallel_files_lose_both_sides_of_a_line(tmp_path):
    sources = written(tmp_path, "a.en", b"one\ntw\xff\nthree\nfour\nfive\n")
    targets = written(tmp_path, "a.fr", b"un\ndeux\ntr\0is\nquatre\ncin\xff\n")
    pairs = read_pairs(sources, targets, bad_lines="drop")
    assert pairs == [("one", "un"), ("four", "quatre")]
    assert dict(+pairs.bad_lines.counts) == {"no_utf8": 2, "nul": 1}
    written(tmp_path, "a.en", b"one\n2\n3\n4\n5\n")
    with pytest.raises(DataError, match=r"a\.fr, line 3, must be a line of text, but is one with NUL"):
        read_pairs(sources, targets)


def test_files_of_different_lengths_are_refused_even_then(tmp_path):
    sources, targets = written(tmp_path, "a.en", b"one\ntwo\n"), written(tmp_path, "a.fr", b"un\n")
    with pytest.raises(DataError, match="must have the same number of lines, got 2 and 1"):
        read_pairs(sources, targets, bad_lines="drop")


def test_json_lines(tmp_path):
    rows = [json.dumps({"source": "Go.", "target": "Va !"}), "{", json.dumps({"source": "a\0", "target": "x"}), '{"source": 1}']
    pairs = read_pairs(written(tmp_path, "a.jsonl", "\n".join(rows).encode()), bad_lines="drop")
    assert pairs == [("Go.", "Va !")] and dict(+pairs.bad_lines.counts) == {"no_pair": 2, "nul": 1}


def test_lines_that_were_dropped_count_as_lines_that_were_read(tmp_path):
    path = written(tmp_path, "a.tsv", GOOD + REFUSED["nul"] + REFUSED["no_utf8"] + GOOD + b"Hi.\tSalut.\n")
    assert read_pairs(path, bad_lines="drop", num_examples=4) == [("Go.", "Va !")] * 2


def test_a_file_of_bad_lines_alone_says_so(tmp_path):
    path = written(tmp_path, "a.tsv", REFUSED["nul"] * 3)
    with pytest.raises(DataError) as caught:
        read_pairs(path, bad_lines="drop")
    assert str(caught.value) == (
        f"{path} holds no line that can be used (lines with NUL characters: 3 dropped): it must hold at least one pair of "
        "sentences."
    )


def test_pairs_from_python_are_looked_at_too():
    with pytest.raises(DataError, match="The pairs, line 2, must be a line of text, but is one with NUL characters"):
        Pairs([("a", "b"), ("a", "\0")])
    assert Pairs([("a\x01", "b")]).bad_lines.counts["control"] == 1


def test_a_long_line_without_spaces_is_long():
    text = "x" * 100_000
    assert BadLines().accepts([text], ["a"], 1)
    with pytest.raises(DataError, match="a, line 7, must be a line of text, but is one of more than 10,000 words"):
        BadLines().accepts([text + "x"], ["a"], 7)
    assert BadLines().accepts(["x " * 10_000], ["a"], 1)


def test_another_action_is_refused():
    with pytest.raises(ConfigError, match="bad_lines must be one of stop, drop, got 'skip'."):
        BadLines("skip")


# Text pipelines; the expected tokens of ``d2l`` are what the book's own functions gave for these texts.

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
