"""Vocabularies: D2L's order and sizes, the JSON form, and files of words as JoeyNMT, OpenNMT and fairseq write them."""

import json

import pytest

import transformer_mb as tmb
from transformer_mb.data import Vocabulary, build_vocabularies, demo_pairs, encode_pairs, read_pairs, read_vocabulary_file
from transformer_mb.errors import ConfigError, DataError, TokenError

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


# Vocabularies of words from files: as JoeyNMT, OpenNMT and fairseq write them, and every wrong line by its number.

FIRST = ("<unk>", "<pad>", "<s>", "</s>")
WORDS = ("the", "dog", "3.5", "été", "7")
SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "epochs": 1, "backend": "numpy"}


def written(folder, text, name="words.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "special"),
    [
        ("\n".join((*FIRST, *WORDS)), FIRST),  # JoeyNMT
        ("\n".join(("<blank>", "<s>", "</s>", "<unk>", *WORDS)) + "\n", ("<unk>", "<blank>", "<s>", "</s>")),  # OpenNMT-tf
        ("".join(f"{word}\t{9 - n}\n" for n, word in enumerate((*FIRST, *WORDS))), FIRST),  # OpenNMT-py, with counts
        ("".join(f"{word} {9 - n}\n" for n, word in enumerate(WORDS)), ("<unk>", "<pad>", "<bos>", "<eos>")),  # fairseq
        ("".join(f"{word}\t-{n}.5e-1\n" for n, word in enumerate(WORDS)), ("<unk>", "<pad>", "<bos>", "<eos>")),
        ("\ufeff" + "\r\n".join((*WORDS, "", "")), ("<unk>", "<pad>", "<bos>", "<eos>")),
    ],
)
def test_every_toolkits_file_is_read(tmp_path, text, special):
    vocabulary = read_vocabulary_file(written(tmp_path, text), "words")
    assert vocabulary.entries == (*special, *WORDS) and vocabulary.special == {"unk": 0, "pad": 1, "bos": 2, "eos": 3}
    assert vocabulary.encode("the 7 dog <s>") == [4, 8, 5, 0]


def test_characters_may_be_a_space(tmp_path):
    vocabulary = read_vocabulary_file(written(tmp_path, "a\n \nb\n"), "characters")
    assert vocabulary.encode("a b") == [4, 5, 6] and vocabulary.decode([4, 5, 6]) == "a b"


@pytest.mark.parametrize(
    ("text", "pipeline", "words"),
    [
        ("a\nb\na\n", "words", "line 3: the token 'a' must stand once, but it is in line 1 too"),
        ("a\n\nb\n", "words", "line 2, must hold a token, but it is blank"),
        ("", "words", "must hold a token on each line, but it holds none"),
        ("<unk>\n<pad>\n", "words", "must hold a token on each line, but it holds none"),
        ("a\nNew York\n", "words", r"'New York' must be .* makes \['New', 'York'\] of it: a line must hold one token"),
        ("9 the\n", "d2l", "line 1: '9 the' must be .*: a line must hold one token, which its count may follow"),
        ("a\nThe\n", "d2l", r"line 2: 'The' must be a token .* makes \['the'\] of it: pipeline \(--pipeline words\)"),
        ("a\nb\0\n", "words", "line 2: .* NUL character"),
        (b"a\n\xff\n", "words", "must be UTF-8 text, but line 2"),
        ("a\nb\n".encode("utf-16"), "words", "it begins as UTF-16 does"),
        (bytes(5 << 20), "words", "line 1, must be a line of text, but is one of more than 4,194,304 bytes"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named(tmp_path, text, pipeline, words):
    path = written(tmp_path, text)
    with pytest.raises(DataError, match=words) as caught:
        read_vocabulary_file(path, pipeline)
    assert str(path) in str(caught.value) and "bad_lines" not in str(caught.value)


def test_what_a_checkpoint_holds_is_read(tmp_path):
    own = Vocabulary.from_tokens([["a", "b"]], pipeline="words")
    path = written(tmp_path, own.to_json(), "source_vocabulary.json")
    assert read_vocabulary_file(path, "words") == own
    with pytest.raises(ConfigError, match=r"pipeline must be words, with which .* was made \(--pipeline words\), got d2l"):
        read_vocabulary_file(path, "d2l")
    for wrong in ("[" * 100_000, json.dumps({"a": 0}), "\ud83d".encode("utf-8", "surrogatepass")):
        with pytest.raises(DataError, match=r"a\.json"):
            read_vocabulary_file(written(tmp_path, wrong, "a.json"), "words")
    for name in ("none.txt", "none.json"):
        with pytest.raises(DataError, match=name):
            read_vocabulary_file(tmp_path / name, "words")


def test_a_training_takes_its_words_and_its_checkpoint_keeps_them(tmp_path):
    pairs = demo_pairs()[0][:60]
    source, target = build_vocabularies(pairs)
    files = {"vocabulary": written(tmp_path, "\n".join([*source.entries, "zebra"]), "source.txt")}
    files["target_vocabulary"] = written(tmp_path, "\n".join(target.entries[:-3]), "target.txt")
    trained = tmb.train(pairs, tmp_path / "model", **SMALL, **files)
    assert trained.corpus.target.unknown > 0 and trained.corpus.source.unknown == 0
    for side in (tmb.Translator.load(tmp_path / "model"), tmb.train(pairs, tmp_path / "model", resume=True).translator):
        assert side.source_vocabulary.entries == (*source.entries, "zebra")
        assert side.target_vocabulary.entries == target.entries[:-3]
    one = tmb.train(pairs, **SMALL, vocabulary=files["vocabulary"], share_embeddings=True)
    assert one.translator.source_vocabulary == one.translator.target_vocabulary


def test_files_of_words_that_cannot_go_together(tmp_path):
    path = written(tmp_path, "a\nb\n")
    for options, words in (
        ({"target_vocabulary": path}, "target_vocabulary needs vocabulary, the source's"),
        ({"vocabulary": path, "tokenizer": tmp_path}, "A vocabulary is of words, and a tokenizer of subwords"),
        ({"vocabulary": path, "target_vocabulary": written(tmp_path, "c\n", "c.txt"), "share_embeddings": True}, "share_embed"),
    ):
        with pytest.raises(ConfigError, match=words):
            tmb.train([("a", "b")], **SMALL, **options)


def test_the_command_and_a_file_of_settings_take_them(cli, tmp_path):
    words = written(tmp_path, "go\n.\nva\n!\n")
    data = written(tmp_path, "Go.\tVa !\nGo.\tVa !\n", "pairs.tsv")
    options = ("--data", data, "--epochs", 1, "--num-hiddens", 8, "--out")
    outcome = cli("train", *options, tmp_path / "one", "--vocabulary", words, "--min-freq", 2)
    assert outcome.status == 0 and "vocabulary of 8, 0.0% of 4 words unknown" in outcome.out
    assert "note: min_freq has no effect with a vocabulary" in outcome.out
    settings = written(tmp_path, f"[data]\nvocabulary = {json.dumps(str(words))}\n", "a.toml")
    assert cli("train", settings, *options, tmp_path / "two").status == 0
    assert cli("train", "--out", tmp_path / "two", "--resume", "--epochs", 2).status == 0
    outcome = cli("train", *options, tmp_path / "three", "--vocabulary", data)
    assert outcome.status == 2 and "pairs.tsv, line 2: the token 'Go.\\tVa !' must stand once" in outcome.err


def test_a_json_of_tokens_and_ids_is_no_vocabulary_and_is_not_listed_whole(tmp_path):
    path = written(tmp_path, json.dumps({f"word{number}": number for number in range(5000)}), "vocab.json")
    with pytest.raises(
        DataError, match=r"got 'word0', 'word1', .*\.\.\. \(5,000 fields\)\. A file of one token a line"
    ) as caught:
        read_vocabulary_file(path, "words")
    assert len(str(caught.value)) < 500


def test_a_vocabulary_that_knows_little_of_a_side_is_noted(tmp_path, capsys):
    pairs = demo_pairs()[0][:40]
    words = written(tmp_path, "".join(f"{word}\n" for word in build_vocabularies(pairs)[0].entries[4:]))
    tmb.train(pairs, vocabulary=words, verbose=True, **SMALL)
    told = capsys.readouterr()
    (note,) = [line for line in (told.out + told.err).splitlines() if "are unknown to its vocabulary" in line]
    assert note.startswith("note: ") and " of the target's words are unknown" in note
    tmb.train(pairs, verbose=True, **SMALL)
    told = capsys.readouterr()
    assert "are unknown to its" not in told.out + told.err
