"""Raw text in, raw text out: MarianMT folders with their tokenizers and CTranslate2, against the libraries that own them."""

import io
import json
from itertools import islice

import pytest

import transformer_mb as tmb
from elsewhere import elsewhere
from porting.hugging_face import SMALL, single
from porting.small_model import refused
from transformer_mb.data import SubwordVocabulary, demo_sentences, train_subwords
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.rows.drawn_values import random_weights
from transformer_mb.porting.exports import ctranslate2
from transformer_mb.porting.families import canonical, marian
from transformer_mb.porting.model import PortedModel
from transformer_mb.porting.port import port
from transformer_mb.porting.settings import read_settings, vocabularies

STEPS, PAIRS = 24, 600
# Beside sentences of the corpus: what is no letter of it, composed and wide forms, runs of spaces, names of special tokens.
ODD = ["naïve  café ", " ｗｉｄｅ e\u0301t\u00e9", "日本語 🙂 \u2581x", "\tTabs\u00a0and\u2028breaks"]
NAMES = "a </s> <pad> <eos> <unk> b"
SWITCHES = {name: value for name, value in marian.FIXED.items() if name != "architecture"}
SIZES = {"num_hiddens": 32, "ffn_num_hiddens": 64, "num_layers": 1, "num_heads": 4, "max_len": 128, "activation": "silu"}
TIED = {"share_embeddings": True, "tie_output": True}


def sentencepiece_model(texts, kind):
    """Without a token for padding, as the library makes it by itself, and as MarianMT's are: </s> is 0, <unk> 1."""
    import sentencepiece

    model, special = io.BytesIO(), {"unk_id": 1, "bos_id": -1, "eos_id": 0}
    options = {"vocab_size": 110, "model_type": kind, "hard_vocab_limit": False, "minloglevel": 2, **special}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=model, **options)
    return model.getvalue()


def two_models(sources, targets):
    """MarianMT's way: a SentencePiece model for each side, and one list of the pieces of both in an order of its own."""
    models = [sentencepiece_model(texts, kind) for texts, kind in ((sources, "unigram"), (targets, "bpe"))]
    pieces = {piece for model in models for piece in SubwordVocabulary("sentencepiece", model).entries}
    entries = ["</s>", "<unk>", *sorted(pieces - {"</s>", "<unk>", "<s>", "<pad>"}), "<pad>"]
    special = {"unk": 1, "pad": len(entries) - 1, "bos": len(entries) - 1, "eos": 0}
    return tuple(SubwordVocabulary("sentencepiece", model, entries, special) for model in models)


def two_lists(sources, targets):
    return tuple(SubwordVocabulary("sentencepiece", sentencepiece_model(texts, "bpe")) for texts in (sources, targets))


def shared(sources, targets):
    return (train_subwords([*sources, *targets], 400),) * 2


def separate(sources, targets):
    return train_subwords(sources, 350, "unigram"), train_subwords(targets, 380)


# What makes the vocabularies; what else the model has; whether the folder has a tokenizer for the target apart.
KINDS = {"two models": (two_models, TIED, None), "two lists": (two_lists, {}, None)}
OF_BYTES = {"shared": (shared, TIED, None), "separate": (separate, {}, "target")}
KINDS |= OF_BYTES


@pytest.fixture(scope="module", params=KINDS)
def learned(request, tmp_path_factory):
    """A folder with a checkpoint that has learned a little, and the name of its kind."""
    pairs, folder = list(islice(demo_sentences(), PAIRS)), tmp_path_factory.mktemp("learned")
    make, more, _ = KINDS[request.param]
    vocabularies = make(*map(list, zip(*pairs, strict=True)))
    options = {**SWITCHES, **SIZES, **more, "epochs": 3, "batch_size": 16, "learning_rate": 0.005, "dropout": 0.0}
    tmb.train(pairs, folder / "checkpoint", tokenizer=vocabularies, backend="numpy", **options)
    return folder, request.param


def lines_of(count):
    return [*ODD, *(english for english, _ in islice(demo_sentences(), PAIRS, PAIRS + count - len(ODD)))]


def translated(folder, lines):
    return tmb.Translator.load(folder, "numpy", max_steps=STEPS).translate(lines)


LONG = pytest.param(500, marks=pytest.mark.long)


def moved(read, place, write, destination):
    """A folder of one family made that of another, without the proof, which other tests look at."""
    destination.mkdir()
    write.write(read.read(place, {}), destination)


@pytest.mark.long(but=1)
@pytest.mark.parametrize("count", [60, LONG])
def test_transformers_translates_raw_text_alike(count, learned, tmp_path):
    """Out, and in again from a folder that transformers itself has saved."""
    folder, kind = learned
    target, lines = KINDS[kind][2], lines_of(count)
    expected = translated(folder / "checkpoint", [*lines, NAMES])
    assert len(set(expected)) > count / 4
    moved(canonical, folder / "checkpoint", marian, tmp_path / "marian")
    moved(marian, tmp_path / "marian", canonical, tmp_path / "again")
    assert translated(tmp_path / "again", [*lines, NAMES]) == expected
    jobs = [{"folder": tmp_path / "marian", "lines": [*lines, NAMES], "max_steps": STEPS, "target": target}]
    saved = [(tmp_path / "marian", tmp_path / "saved")] if target is None else []
    jobs += [{"folder": place, "lines": lines, "max_steps": STEPS} for _, place in saved]
    got, *of_saved = elsewhere("porting.text_elsewhere:texts", saved=saved, translated=jobs)[1]["texts"]
    assert got == expected
    for texts in of_saved:
        moved(marian, tmp_path / "saved", canonical, tmp_path / "from saved")
        assert translated(tmp_path / "from saved", lines) == texts


@pytest.mark.long(but=1)
@pytest.mark.parametrize("learned", OF_BYTES, indirect=True)
@pytest.mark.parametrize("count", [60, LONG])
def test_ctranslate2_translates_tokens_alike(count, learned, tmp_path):
    (folder, _), lines = learned, lines_of(count)
    moved(canonical, folder / "checkpoint", ctranslate2, tmp_path / "exported")
    job = {"folder": tmp_path / "exported", "lines": lines, "max_steps": STEPS}
    assert elsewhere("porting.text_elsewhere:engine_texts", **job)[1]["texts"] == translated(folder / "checkpoint", lines)


@pytest.mark.long
@pytest.mark.parametrize("learned", ["two models", "separate"], indirect=True)
def test_a_port_and_its_proof(learned, tmp_path):
    (folder, _), lines = learned, lines_of(20)
    assert not any("no tokenizer" in note for note in port(folder / "checkpoint", tmp_path / "marian", "marian").notes)
    assert port(tmp_path / "marian", tmp_path / "again", "canonical").holds
    assert translated(tmp_path / "again", lines) == translated(folder / "checkpoint", lines)


@pytest.fixture
def small(tmp_path):
    """A folder of a MarianMT model that knows two languages by their codes."""
    texts = [english for english, _ in islice(demo_sentences(), 200)]
    model = SubwordVocabulary("sentencepiece", sentencepiece_model(texts, "bpe"))
    entries = ["</s>", "<unk>", *(set(model.entries) - {"</s>", "<unk>", "<s>", "<pad>"}), ">>fra<<", ">>deu<<", "<pad>"]
    special = {"unk": 1, "pad": len(entries) - 1, "bos": len(entries) - 1, "eos": 0}
    vocabulary = SubwordVocabulary("sentencepiece", model.content, entries, special)
    sizes = {f"{side}_vocab_size": len(entries) for side in ("source", "target")}
    config = SMALL.replace(**sizes, pad_id=special["pad"], decoder_start_id=special["pad"], suppress_ids=(special["pad"],))
    weights = single(random_weights(parameter_shapes(config)))
    marian.write(
        PortedModel(config=config, weights=weights, source_vocabulary=vocabulary, target_vocabulary=vocabulary), tmp_path
    )
    return tmp_path


def test_a_language_is_named_before_the_text(small):
    """As MarianMT's models of several languages are asked; any other such name is text."""
    read = marian.read(small, {}).source_vocabulary
    code, text = read.ids([">>deu<<"]), read.encode("the dog")
    assert read.encode(">>deu<<the dog") == [*code, *text] == read.encode(">>deu<< the dog")
    assert not set(code) & {*read.encode("the >>deu<< dog"), *read.encode(">>xyz<< the dog")}
    assert read.decode([*text, read.unk_id, read.pad_id, read.eos_id]) == "the dog"


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\x0a\xff"])
def test_a_sentencepiece_model_that_is_none(content, small):
    (small / "target.spm").write_bytes(content)
    refused("A SentencePiece model was expected", marian.read, small, {})
    (small / "target.spm").unlink()
    (small / "target.spm").mkdir()
    assert marian.read(small, {}).target_vocabulary.pipeline.name == "words"


def test_tokenizers_that_the_settings_name(small, tmp_path_factory):
    """A model without its own gets those that the user names."""
    place = tmp_path_factory.mktemp("named")
    made = train_subwords(["a few words"], 300)
    (place / "tokenizer.json").write_bytes(made.content)
    (place / "one.model").write_bytes((small / "source.spm").read_bytes())
    settings = {"source_vocabulary": "tokenizer.json", "target_vocabulary": "one.model"}
    (place / "config.json").write_text(json.dumps(settings))
    named = vocabularies(read_settings(place / "config.json"))
    assert named["source_vocabulary"] == made and named["target_vocabulary"].kind == "sentencepiece"
    (place / "tokenizer.json").write_text('{"model": 1}')
    refused("A tokenizer.json was expected", vocabularies, read_settings(place / "config.json"))
