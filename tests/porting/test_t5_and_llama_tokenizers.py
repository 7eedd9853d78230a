"""Text in and out of T5's, ByT5's and Llama's folders: what AutoTokenizer and SentencePiece make of 500 lines, and of ids."""

import random

import pytest
import sentencepiece

import transformer_mb as tmb
from elsewhere import elsewhere
from porting.five_scripts import lines
from porting.on_backend import sentences
from porting.small_model import refused, spoil
from porting.t5_and_llama_tokenizers import FOLDERS
from transformer_mb.checkpoint.files import read_vocabulary, write_vocabularies
from transformer_mb.errors import CheckpointError
from transformer_mb.porting.families.tokenizer_files import read_words, write_words
from transformer_mb.porting.model import PortedModel

# Sentinels, blanks and line breaks wherever they can be, characters that are not seen, English that is tidied.
ODD = [
    *("a <extra_id_0> b<extra_id_1>c.", "<extra_id_2>", "<extra_id_0><extra_id_1>  x", "<extra_id_77> <extra_id_x>", ""),
    *("<extra_id_007>", "<extra_id_0 >", "x<extra_id_3>\n<extra_id_4> y", "a\u0301<extra_id_0>\u0301", "  two  blanks "),
    *(" ", "\n\nnew\nlines\n", "\tx", " x", "a\u2581b \u2581", "\x01\x02\x00\x7f", "\u200e\u202d", "\ufffd\ufffe", "\ufeffx"),
    *("the <hl>answer <hl> is <sep> here", "<sep><hl>"),
    "It 's n't , he 're ok ? Yes ! ' '",
]
TEXTS = [*lines(), *ODD]
dice = random.Random(3)
ROWS = [[dice.randrange(100_000) for _ in range(dice.randrange(1, 25))] for _ in range(60)]
NAMES = [*FOLDERS, *(name.removesuffix("-old") for name in FOLDERS), "llama-1", "llama-3"]
BY_SENTENCEPIECE = [name for name, (file, *_) in FOLDERS.items() if file]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folders; per name AutoTokenizer's ids of all lines, and its texts of these ids and of ``ROWS``."""
    folder = tmp_path_factory.mktemp("tokenizers")
    arrays, facts = elsewhere("porting.t5_and_llama_tokenizers:made", folder=folder, lines=TEXTS, rows=ROWS)
    return folder, {name: sentences(array) for name, array in arrays.items()}, facts


def config_of(name, rows):
    """Return the configuration of an encoder and decoder, as T5 is, or of a decoder."""
    if "llama" in name:
        begin, end = (rows - 2, rows - 1) if name == "llama-3" else (1, 2)
        return tmb.TransformerConfig(architecture="decoder", target_vocab_size=rows, bos_id=begin, eos_id=end, pad_id=end)
    return tmb.TransformerConfig(source_vocab_size=rows, target_vocab_size=rows, pad_id=0, eos_id=1, decoder_start_id=0)


def settings_of(name):
    return {"spelled_tokens": ["<hl>"]} if "marked" in name else {}


def read(made, name, **settings):
    settings = settings or settings_of(name)
    words = read_words(made[0] / name, config_of(name, made[2][f"{name} count"]), settings)
    assert words.problem == ""
    return words.target


def rows_of(made, name):
    """Ids to make text of: those of the lines, and any."""
    return [*made[1][name], *([number % made[2][f"{name} count"] for number in row] for row in ROWS)]


def ids_of(words):
    return {line: words.framed(words.encode(line)) for line in TEXTS}


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(BY_SENTENCEPIECE)))
def test_ids_and_texts_are_those_of_auto_tokenizer(name, made):
    words = read(made, name)
    assert ids_of(words) == dict(zip(TEXTS, made[1][name], strict=True))
    assert [words.decode(row) for row in rows_of(made, name)] == made[2][name]


@pytest.mark.parametrize("name", [name for name in BY_SENTENCEPIECE if "t5" in name])
def test_a_spiece_model_alone_reads_as_auto_tokenizer_does(name, made):
    """But for what release 5 does otherwise than SentencePiece: it parts words at U+0085, and keeps blanks around a text."""
    words, expected = read(made, name), dict(zip(TEXTS, made[1][name], strict=True))
    got = ids_of(words)
    assert [line for line in TEXTS if got[line] != expected[line]] == ["x\u2028y\u0085z"]
    assert [words.decode(row) for row in rows_of(made, name)] == [text.strip() for text in made[2][name]]


@pytest.mark.parametrize("name", [name for name in BY_SENTENCEPIECE if "llama" in name])
def test_a_tokenizer_model_alone_reads_as_sentencepiece_does(name, made):
    """As Meta's own code, and release 4. Release 5 loses a space where a text begins with one, and parts runs of bytes."""
    words, bare = read(made, name), "bare" in name
    library = sentencepiece.SentencePieceProcessor(model_file=str(made[0] / name / "tokenizer.model"))
    closing = [2] if FOLDERS[name][1]["add_eos_token"] else []
    spaced = {line: [1, *library.encode(line), *closing] for line in TEXTS}
    # Without the space before a text, release 5 has none to lose.
    assert ids_of(words) == (dict(zip(TEXTS, made[1][name], strict=True)) if bare else spaced)
    before = library.encode("a") if bare else []  # SentencePiece takes the first space of a text, not those behind a letter
    for row in rows_of(made, name):
        shown = [number for number in row if 2 < number < len(library)]
        assert words.decode(row) == library.decode([*before, *shown])[len(before) :]


def test_release_5_reads_a_llama_otherwise_only_where_a_text_begins_with_a_space(made):
    expected, got = dict(zip(TEXTS, made[1]["llama-old"], strict=True)), ids_of(read(made, "llama-old"))
    assert {line for line in TEXTS if got[line] != expected[line]} == {line for line in TEXTS if line.startswith(" ")}


def test_sentinels_are_numbered_and_read_as_published(made):
    """T5's count down to the last token (Raffel et al. 2020), those of ByT5's class up from behind the bytes."""
    old, of_bytes = read(made, "t5-unnamed-old"), read(made, "byt5-old")
    assert old.ids(f"<extra_id_{number}>" for number in range(100)) == list(range(699, 599, -1))
    assert of_bytes.ids(f"<extra_id_{number}>" for number in range(125)) == list(range(259, 384))
    assert of_bytes.encode("\u00e9<extra_id_3>\n") == [0xC3 + 3, 0xA9 + 3, 262, 10 + 3]
    for name in ("t5", "t5-old", "byt5"):
        words = read(made, name)
        assert words.encode("a <extra_id_1> b")[1 if name != "byt5" else 2] == words.ids(["<extra_id_1>"])[0]
        assert "extra_id" not in words.decode(words.encode("a <extra_id_1> b"))


def test_what_a_text_may_spell_is_said_and_named_in_the_settings(made):
    """A word that was added is always found, as AutoTokenizer finds it; a special token where its name is asked for."""
    for name in ("t5-marked", "t5-marked-old"):
        words = read_words(made[0] / name, config_of(name, 609), {})
        assert words.problem.startswith("Inside a text <hl> are text, no special tokens, unless spelled_tokens in the settings")
        assert 607 not in words.source.encode("the <hl> is") and 608 in words.source.encode("the <sep> is")
        assert 607 in read(made, name).encode("the <hl> is")
        for wrong in ("</s>", "<nothing>"):
            refused(f"without a role, got '{wrong}'", read, made, name, spelled_tokens=[wrong])
    refused("spelled_tokens must be a list of names, got '<hl>'", read, made, "t5-marked", spelled_tokens="<hl>")


def test_the_name_of_another_special_token_is_text(made):
    for name in ("byt5", "llama-old", "llama-3"):
        words, line = read(made, name), "a </s> <s> <pad> <unk> <|begin_of_text|>"
        assert words.decode(words.encode(line)) == line
        assert not {*words.encode(line)} & {*words.special.values(), *words.opening}


def test_a_tokenizer_that_is_written_is_what_auto_tokenizer_reads(made, tmp_path):
    """The model brought no files of its own."""
    folders = {name: tmp_path / name for name in ("t5-tidy", "t5-marked", "byt5", "llama", "llama-3")}
    for name, folder in folders.items():
        folder.mkdir()
        config = config_of(name, made[2][f"{name} count"])
        write_words(folder, PortedModel(config=config, weights={}, target_vocabulary=read(made, name)))
    given = {"folders": list(folders.values()), "lines": TEXTS, "rows": ROWS}
    arrays, facts = elsewhere("porting.t5_and_llama_tokenizers:read", **given)
    for name in folders:
        assert sentences(arrays[name]) == made[1][name] and facts[name] == made[2][name]


@pytest.mark.parametrize("name", ["t5-tidy-old", "t5", "t5-marked-old", "byt5-unnamed-old", "llama-bare-old", "llama-3"])
def test_a_checkpoint_keeps_what_makes_text(name, made, tmp_path):
    words = read(made, name)
    write_vocabularies(tmp_path, source=words)
    again = read_vocabulary(tmp_path / "source_vocabulary.json")
    assert again == words and ids_of(again) == ids_of(words)
    assert [again.decode(row) for row in rows_of(made, name)] == [words.decode(row) for row in rows_of(made, name)]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("spelled", "<hl>", "spelled must be a list of tokens, got '<hl>'"),
        ("silent", [5], r"silent must be a list of tokens, got \[5\]"),
        ("spelled", ["</s>"], "without a role, got '</s>'"),
        ("silent", ["<nothing>"], "without a role, got '<nothing>'"),
        ("loud", True, "got .*'loud'"),
    ],
)
def test_a_checkpoint_that_says_something_else_of_its_tokens_is_refused(field, value, words, made, tmp_path):
    write_vocabularies(tmp_path, source=read(made, "t5-marked-old"))
    spoil(tmp_path / "source_vocabulary.json", **{field: value})
    with pytest.raises(CheckpointError, match=words):
        read_vocabulary(tmp_path / "source_vocabulary.json")
