"""Tokenizers in folders of ``transformers``: AutoTokenizer's ids on 500 lines of five scripts, of today's files and of old."""

import shutil

import pytest

from elsewhere import elsewhere
from porting.five_scripts import COUNT, lines
from porting.hugging_face import SMALL
from porting.on_backend import sentences
from porting.small_model import refused, spoil
from porting.transformers_tokenizers import KINDS
from transformer_mb.checkpoint.files import read_vocabulary, write_vocabularies
from transformer_mb.porting.families.tokenizer_files import read_words, write_words
from transformer_mb.porting.model import PortedModel

TEXTS = lines()
LINES = TEXTS[:60]
LANGUAGES = {
    "mbart": {"source_language": "fr_XX", "target_language": "en_XX"},
    "mbart-50": {"source_language": "fr_XX", "target_language": "en_XX"},
    "m2m100": {"source_language": "fr", "target_language": "en"},
}
FOLDERS = [name for kind in KINDS for name in (kind, f"{kind}-old")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folders of all kinds, AutoTokenizer's ids, and how many tokens it has."""
    folder = tmp_path_factory.mktemp("tokenizers")
    arrays, facts = elsewhere("porting.transformers_tokenizers:made", folder=folder, lines=TEXTS)
    return folder, {name: sentences(array) for name, array in arrays.items()}, facts


# What transformers 5 makes otherwise of the files of a slow tokenizer than the tokenizer itself, which 4.57 still has (see the
# long test): no end after BlenderbotTokenizer's texts, no normalization in MBartTokenizer's, and other blanks in the rest.
OTHERWISE = {"blenderbot-old", "mbart-old"}
BLANKS = {"x\u2028y\u0085z", " leading and trailing "}


# The end token of those whose is not 2.
ENDS = {"gpt2": 0, "t5": 1, "pegasus": 1, "bert": 3, "distilbert-cased": 3}


def config_of(rows, kind=""):
    eos = ENDS.get(kind.removesuffix("-old"), 2)
    ids = {"pad_id": 1 if eos > 1 else 0, "eos_id": eos, "decoder_start_id": eos}
    return SMALL.replace(source_vocab_size=rows, target_vocab_size=rows, suppress_ids=(), **ids)


def read(made, name, rows=None, **settings):
    folder, _, facts = made
    return read_words(folder / name, config_of(rows or facts[name][0], name), settings)


def test_the_lines_are_what_they_should_be():
    assert len(TEXTS) == COUNT and len(set(TEXTS)) > COUNT - 5
    assert all(
        sum(low <= char <= high for line in TEXTS for char in line) > 500
        for low, high in ("az", "ая", "αω", "اي", "अह", "一龥")
    )


def ids_of(made, name):
    kind = name.removesuffix("-old")
    more = 108 if kind == "m2m100" else 0  # rows of languages, which AutoTokenizer does not count
    words = read(made, name, made[2][name][0] + more, **LANGUAGES.get(kind, {}))
    assert words.problem == ""
    return {line: words.source.framed(words.source.encode(line)) for line in TEXTS}


@pytest.mark.parametrize("name", sorted(set(FOLDERS) - OTHERWISE))
def test_the_ids_are_those_of_auto_tokenizer(name, made):
    got, expected = ids_of(made, name), dict(zip(TEXTS, made[1][name], strict=True))
    left_out = BLANKS if name.endswith("-old") and KINDS[name.removesuffix("-old")][1] in ("t5", "fairseq") else set()
    assert [got[line] for line in TEXTS if line not in left_out] == [expected[line] for line in TEXTS if line not in left_out]


@pytest.mark.parametrize("name", ["t5", "bart", "mbart-50", "gpt2"])
def test_a_checkpoint_keeps_tokenizer_and_frame(name, made, tmp_path):
    words = read(made, name, **LANGUAGES.get(name, {}))
    write_vocabularies(tmp_path, source=words.source, target=words.target)
    for side, vocabulary in (("source", words.source), ("target", words.target)):
        again = read_vocabulary(tmp_path / f"{side}_vocabulary.json")
        assert again == vocabulary and again.frame == vocabulary.frame
        got, expected = ([one.framed(one.encode(line)) for line in LINES] for one in (again, vocabulary))
        assert got == expected


def test_a_language_is_asked_for_and_checked(made, tmp_path):
    for name in ("mbart", "mbart-old"):
        shutil.copytree(made[0] / name, tmp_path / name)
        spoil(tmp_path / name / "tokenizer_config.json", src_lang=None, tgt_lang=None)
    unsaid = tmp_path, *made[1:]
    assert "left out until source_language in the settings (config) says its code" in read(unsaid, "mbart-old").problem
    assert "left out until target_language in the settings" in read(unsaid, "mbart").problem  # a source's frame is in the file
    codes = {"source_language": "klingon", "target_language": "en_XX"}
    refused("source_language must be a token of .*, got 'klingon'", read, made, "mbart-old", **codes)
    said = read(made, "mbart-old")  # by tokenizer_config.json, as for AutoTokenizer
    assert [words.tokens(words.closing) for words in said[:2]] == [["</s>", "fr_XX"], ["</s>", "en_XX"]]
    refused("source_language is for tokenizers of MBart50, M2M100, Nllb, MBart, got one of T5", read, made, "t5", **codes)


def test_what_cannot_be_read_is_left_out_or_refused(made, tmp_path):
    folder = made[0]
    assert read_words(tmp_path, config_of(10), {}).problem.startswith("There is no tokenizer.json and no other tokenizer")
    assert "it gives 400 tokens for 300 rows" in read(made, "bart", 300).problem
    assert "it gives 400 tokens for 900 rows" in read(made, "bart", 900).problem
    shutil.copytree(folder / "bart-old", tmp_path / "bart")
    spoil(tmp_path / "bart" / "tokenizer_config.json", tokenizer_class="SomebodysTokenizer")
    assert (
        "around a text of a SomebodysTokenizer is not known here" in read_words(tmp_path / "bart", config_of(400), {}).problem
    )
    (tmp_path / "bart" / "merges.txt").write_text("#version: 0.2\na b c\n")
    refused("merges.txt must hold two pieces per line, got 'a b c'", read_words, tmp_path / "bart", config_of(400), {})
    (tmp_path / "bart" / "tokenizer.json").write_text('{"model": {"vocab": {"a": 5}}}')
    refused("must list its tokens by the ids 0, 1, 2", read_words, tmp_path / "bart", config_of(400), {})


def test_a_written_tokenizer_is_what_auto_tokenizer_reads(made, tmp_path):
    """The model brought no files of its own, and has a frame."""
    words = read(made, "roberta")
    model = PortedModel(config=config_of(400), weights={}, source_vocabulary=words.source, target_vocabulary=words.target)
    write_words(tmp_path, model)
    arrays, _ = elsewhere("porting.transformers_tokenizers:ids_of", folder=tmp_path, lines=TEXTS)
    assert sentences(arrays["ids"]) == made[1]["roberta"]


def test_a_special_token_that_the_settings_name_is_found_as_auto_tokenizer_finds_it(made):
    """RoBERTa's takes the space before it."""
    texts = ["Paris is the <mask> of France.", "a<mask>b", " <mask>", "<mask>\n<mask>  </mask>", "</s> is no end"]
    arrays, _ = elsewhere("porting.transformers_tokenizers:ids_of", folder=made[0] / "roberta", lines=texts)
    words, unnamed = read(made, "roberta", spelled_tokens=["<mask>"]).source, read(made, "roberta").source
    expected = sentences(arrays["ids"])
    assert [words.framed(words.encode(text)) for text in texts[:-1]] == expected[:-1]
    assert 2 in expected[-1][1:-1] and 2 not in words.encode(texts[-1])  # what ends a text is never found in one
    assert [words.ids(["<mask>"])[0] in one.encode(texts[0]) for one in (words, unnamed)] == [True, False]
