"""The second trial's calls from Python: numbers of a search, names of arguments, and what things say of themselves."""

import os
import subprocess
import sys
from itertools import chain

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.errors import ConfigError, DataError
from transformer_mb.evaluation import evaluate
from transformer_mb.presets import PRESETS

LINE = "go .\n"
SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "max_len": 7}
SOURCE = [[4, 5, 6], [7, 3, 1]]
NOT_FROM_0_TO_10 = [float("nan"), float("inf"), -0.1, 10.5, 1e9, "1", True, None]
BLEU_IS_0 = "BLEU has no sequence of four words to count"


@pytest.fixture(scope="module")
def backend():
    return tmb.get_backend("numpy")


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(tmb.presets.d2l(10, 12, **SMALL))


@pytest.fixture(scope="module")
def decoder(backend):
    return backend.build(tmb.presets.d2l(None, 12, architecture="decoder", **SMALL))


@pytest.fixture(scope="module")
def translator(trained):
    return tmb.Translator.load(trained)


@pytest.mark.parametrize("wrong", NOT_FROM_0_TO_10, ids=str)
def test_a_length_penalty_is_finite_and_bounded(backend, model, translator, wrong):
    said = rf"length_penalty must be from 0 to 10, got {wrong!r}\."
    for search in (backend.beam, backend.hypotheses):
        with pytest.raises(ConfigError, match=said):
            search(model, SOURCE, length_penalty=wrong)
    for search in (translator.translate, translator.hypotheses):
        with pytest.raises(ConfigError, match=said):
            search(LINE, beam=2, length_penalty=wrong)


def test_the_largest_length_penalty_gives_finite_scores(backend, model):
    for found in backend.hypotheses(model, SOURCE, length_penalty=np.float32(10)):
        assert np.isfinite([one.score for one in found]).all() and all(one.score < 0.0 for one in found)


@pytest.mark.parametrize("wrong", ["1e9", "inf", "10.1"])
def test_a_length_penalty_out_of_bounds_is_a_wrong_call(fails, trained, data, wrong):
    for command in (("translate", trained, "--scores"), ("evaluate", trained, "--data", data)):
        assert "length_penalty must be from 0 to 10" in fails(*command, "--beam", 2, "--length-penalty", wrong, stdin=LINE)


def test_numbers_of_a_search_are_whole(backend, model, decoder, translator, trained):
    for search in (backend.beam, backend.hypotheses):
        with pytest.raises(ConfigError, match=r"beam must be a whole number, got 1\.5\."):
            search(model, SOURCE, beam=1.5)
        with pytest.raises(ConfigError, match=r"max_steps must be a whole number, got 2\.5\."):
            search(model, SOURCE, max_steps=2.5)
    for native, ids in ((model, SOURCE), (decoder, [[4, 5]])):
        with pytest.raises(ConfigError, match=r"max_steps must be a whole number, got 2\.5\."):
            backend.greedy(native, ids, max_steps=2.5)
    with pytest.raises(ConfigError, match=r"n_best must be a whole number, got 1\.5\."):
        backend.hypotheses(model, SOURCE, n_best=1.5)
    with pytest.raises(ConfigError, match=r"beam must be a whole number, got 1\.5\."):
        translator.translate(LINE, beam=1.5)
    for name in ("batch_size", "max_steps"):
        with pytest.raises(ConfigError, match=rf"{name} must be a whole number, got 2\.5\."):
            tmb.Translator.load(trained, **{name: 2.5})
        with pytest.raises(ConfigError, match=f"{name} must be at least 1, got 0."):
            tmb.Translator.load(trained, **{name: 0})


@pytest.mark.parametrize("wrong", [None, 3, b"model"], ids=str)
def test_a_folder_is_a_path(model, wrong):
    for call in (tmb.Translator.load, tmb.load, lambda folder: tmb.save(model, folder)):
        with pytest.raises(ConfigError, match=rf"The folder of a checkpoint must be a path, got {wrong!r}\."):
            call(wrong)


def test_vocabularies_to_save_are_two(backend, tmp_path):
    vocabulary = tmb.Vocabulary(["<unk>", "<pad>", "<bos>", "<eos>", *"abcdef"])
    model = backend.build(tmb.presets.d2l(10, 10, **SMALL))
    for wrong in (vocabulary, (vocabulary,), ("source.json", "target.json"), ()):
        with pytest.raises(ConfigError, match=r"vocabularies must be two, \(source, target\), got"):
            tmb.save(model, tmp_path / "model", vocabularies=wrong)
    tmb.save(model, tmp_path / "model", vocabularies=[vocabulary, vocabulary])
    assert tmb.Translator.load(tmp_path / "model").target_vocabulary == vocabulary


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"num_head": 2}, "num_head. Did you mean num_heads?"),
        ({"NUM_HIDDENS": 2, "drop_out": 0}, "NUM_HIDDENS, drop_out. Did you mean num_hiddens? Did you mean dropout?"),
    ],
    ids=str,
)
def test_an_unknown_field_of_a_preset_has_the_nearest_known(given, said):
    for name, preset in PRESETS.items():
        with pytest.raises(ConfigError) as caught:
            preset(10, 10, **given)
        assert str(caught.value).startswith(f"Unknown field(s) of {name}: {said} There are: ")


def test_an_unknown_field_is_a_config_error(backend, model):
    with pytest.raises(ConfigError, match=r"Unknown field\(s\) of TrainerOptions: foo\. There are: optimizer, .*, seed\."):
        backend.trainer(model, foo=1)
    with pytest.raises(ConfigError, match=r"TrainerOptions: learning_rates\. Did you mean learning_rate\?"):
        backend.trainer(model, learning_rates=1)
    for make in (tmb.TransformerConfig, model.config.replace):
        with pytest.raises(ConfigError, match=r"TransformerConfig: num_hidden\. Did you mean num_hiddens\?"):
            make(num_hidden=8)


def test_a_length_penalty_without_a_beam_is_warned_of(cli, trained, data):
    said = "Warning: --length-penalty changes nothing without --beam N: a greedy search compares no hypotheses.\n"
    for command in (("translate", trained), ("evaluate", trained, "--data", data)):
        greedy, warned = cli(*command, stdin=LINE), cli(*command, "--length-penalty", 0.6, stdin=LINE)
        assert warned.err == greedy.err + said and warned.out == greedy.out and warned.status == 0
        assert said not in cli(*command, "--length-penalty", 0.6, "--beam", 2, stdin=LINE).err
    plain, other = (cli("translate", trained, "--scores", "--length-penalty", given, stdin=LINE) for given in (0, 1))
    assert plain.out != other.out and other.err == plain.err == ""  # the score does depend on it


@pytest.mark.parametrize(("command", "unbuffered"), [("translate", ""), ("translate", "1"), ("presets", "")])
def test_a_full_standard_output_is_named(trained, command, unbuffered):
    line = [sys.executable, "-m", "transformer_mb", command, *([trained] if command == "translate" else [])]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(line, input=LINE, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert (done.returncode, done.stderr) == (2, "Error: Standard output: No space left on device.\n")


@pytest.mark.parametrize(
    ("wrong", "got"), [([], "got no token"), ("abc", "got a str"), (None, "got a NoneType"), (3, "got a int")], ids=str
)
def test_a_vocabulary_without_tokens_is_refused(wrong, got):
    with pytest.raises(DataError, match=f"vocabulary must .*{got}"):
        tmb.Vocabulary(wrong)


def test_the_empty_name_is_no_folder(model):
    for call in (tmb.load, lambda folder: tmb.save(model, folder)):
        with pytest.raises(ConfigError, match="The folder of a checkpoint must be a path, got ''"):
            call("")


def test_searches_may_leave_out_lengths_and_steps(backend, model, decoder):
    for native, ids, steps in ((model, SOURCE, 7), (decoder, [[4, 5, 6], [7, 8, 9]], 5)):
        lens = [3, 3]
        assert backend.greedy(native, ids) == backend.greedy(native, ids, lens, steps)
        assert backend.beam(native, ids, beam=2) == backend.beam(native, ids, lens, steps, 2, 0.6)
        default, told = (backend.hypotheses(native, ids, *given) for given in ((None, None, 2), (lens, steps, 2, 0.6)))
        for one, other in zip(chain(*default), chain(*told), strict=True):
            assert one.ids == other.ids and one.score == pytest.approx(other.score)
        assert backend.greedy(native, ids, max_steps=2) == [row[:2] for row in backend.greedy(native, ids)]


def test_n_best_is_the_number_of_hypotheses(backend, model):
    all_of_them = backend.hypotheses(model, SOURCE, beam=3)
    assert backend.hypotheses(model, SOURCE, beam=3, n_best=2) == [found[:2] for found in all_of_them]
    assert [len(found) for found in all_of_them] == [3, 3]


@pytest.mark.parametrize(
    ("architecture", "said"), [("decoder", "continues ids: backend.greedy"), ("encoder", "reads ids: backend.encode")]
)
def test_a_translator_of_one_side_is_told_what_that_side_does(backend, fails, tmp_path, architecture, said):
    sizes = {"decoder": (None, 5), "encoder": (5, None)}[architecture]
    vocabulary = tmb.Vocabulary(["<unk>", "<pad>", "<bos>", "<eos>", "go"])
    model = backend.build(tmb.presets.d2l(*sizes, architecture=architecture, **SMALL))
    given = (None, vocabulary) if architecture == "decoder" else (vocabulary, None)
    tmb.save(model, tmp_path / "model", vocabularies=given)
    message = fails("translate", tmp_path / "model", stdin=LINE)
    assert f"{tmp_path / 'model'} holds a" in message and f"{architecture} alone" in message and said in message
    with pytest.raises(ConfigError, match=f"the model is an? {architecture} alone.*{said}"):
        tmb.Translator(backend, model, vocabulary, vocabulary)


def test_num_heads_and_num_layers_are_of_both_sides():
    for preset in PRESETS.values():
        config = preset(10, 10, num_heads=2, num_layers=3, num_hiddens=8)
        assert (config.encoder_num_heads, config.decoder_num_heads) == (2, 2)
        assert (config.encoder_num_layers, config.decoder_num_layers) == (3, 3)
    with pytest.raises(ConfigError, match="num_heads says it of both sides, got num_heads = 2 beside decoder_num_heads = 4"):
        tmb.presets.d2l(10, 12, num_heads=2, decoder_num_heads=4)


def test_backend_translator_batches_and_vocabulary_say_what_they_are(backend, model, translator):
    source, target = len(translator.source_vocabulary), len(translator.target_vocabulary)
    assert repr(backend) == "NumPyBackend(device='cpu', dtype='float32')"
    assert repr(translator) == (
        f"Translator(numpy, cpu, float32: {source} source tokens, {target} target tokens, lines of at most 29)"
    )
    batches = tmb.Batches([([4], [5, 6]), ([4, 4], [5]), ([7], [8])], batch_size=2)
    assert repr(batches) == "Batches(2 of batch_size 2, num_pairs 3, num_tokens 7)"
    assert repr(translator.target_vocabulary) == f"Vocabulary({target} tokens, pipeline d2l)"


@pytest.mark.parametrize(("translation", "explained"), [("non !", False), ("va !", True)], ids=["wrong", "right"])
def test_a_model_that_learned_little_needs_no_word_on_bleu(cli, data, tmp_path, monkeypatch, translation, explained):
    monkeypatch.setattr("transformer_mb.cli.evaluate.score", lambda *_: evaluate([("go .", "va !")], [translation]))
    run = ("--validation", data, "--num-hiddens", 8, "--num-layers", 1, "--num-heads", 1, "--epochs", 1, "--num-examples", 8)
    done = cli("train", "--data", data, *run, "--out", tmp_path / "little")
    assert done.status == 0 and "validation BLEU" in done.out and (BLEU_IS_0 in done.out) == explained
