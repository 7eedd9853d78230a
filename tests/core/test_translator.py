"""The translator in Python, the arguments of searches, and the figures of translations."""

from __future__ import annotations

import math
from itertools import chain

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.errors import CheckpointError, ConfigError, DataError, TokenError

LONG = "he " * 40 + "."
LINE = "go .\n"
SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "max_len": 7}


@pytest.fixture(scope="module")
def backend():
    return tmb.get_backend("numpy")


def test_a_long_line_raises_in_python_unless_told_otherwise(trained, translator, lines):
    with pytest.raises(TokenError, match="Line 2 must be at most 29 tokens long"):
        translator.translate([lines[0], LONG])
    for too_long, expected in (("cut", translator.translate(" ".join(LONG.split()[:29]))), ("skip", "")):
        tolerant = tmb.Translator.load(trained, too_long=too_long)
        heard = []
        tolerant.on_long = lambda number, count, heard=heard: heard.append((number, count))
        assert tolerant.translate([lines[0], LONG]) == [translator.translate(lines[0]), expected]
        assert heard == [(2, len(LONG.split()))] and tolerant.excess([lines[0], LONG]) == {1: len(LONG.split())}
    with pytest.raises(ConfigError, match="too_long must be one of stop, cut, skip, got 'drop'"):
        tmb.Translator.load(trained, too_long="drop")


def test_a_checkpoint_without_vocabularies_says_how_to_give_them(fails, checkpoint, trained, translator, lines, tmp_path):
    kept = {}
    for side in ("source", "target"):
        kept[f"{side}_vocabulary"] = str(tmp_path / f"{side}.json")
        (checkpoint / f"{side}_vocabulary.json").rename(tmp_path / f"{side}.json")
    message = fails("translate", checkpoint)
    assert "tmb.save(model, folder, vocabularies=(source, target))" in message
    assert '{"source_vocabulary": FILE, "target_vocabulary": FILE} in --config' in message
    with pytest.raises(CheckpointError, match="needs the vocabularies of both sides"):
        tmb.Translator.load(checkpoint)
    tmb.port(checkpoint, tmp_path / "with", to="canonical", config=kept)
    assert tmb.Translator.load(tmp_path / "with").translate(lines) == translator.translate(lines)


def test_a_text_gives_a_text_and_a_list_a_list(translator, lines):
    assert translator.translate(lines[0]) == translator.translate([lines[0]])[0] == translator.translate(iter(lines))[0]
    assert translator.translate("") == "" and translator.translate([]) == [] and translator.hypotheses([]) == []
    for wrong, got in (
        (b"go .", "got a bytes"),
        (3, "got a int"),
        ({"go .": 1}, "got a dict"),
        ([lines[0], None], "line 2 is a"),
    ):
        with pytest.raises(DataError, match=f"must be a str or a list of str.*{got}"):
            translator.translate(wrong)


def test_hypotheses_have_scores_that_order_them(trained, lines):
    translator = tmb.Translator.load(trained, max_steps=12)  # else the longest line of a batch says where one is cut
    both = translator.hypotheses(lines, beam=4)
    assert [found[0].text for found in both] == translator.translate(lines, beam=4)
    for line, found in zip(lines, both, strict=True):
        alone = translator.hypotheses(line, beam=4)
        assert [one.tokens for one in found] == [one.tokens for one in alone] and len({one.text for one in found}) == 4
        assert [one.score for one in found] == pytest.approx([one.score for one in alone], rel=1e-4)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        for one in found:
            assert one.text == " ".join(one.tokens) and one.log_probability <= 0
            ended = len(one.tokens) < 12  # by a token more
            penalty = ((5 + len(one.tokens) + ended) / 6) ** 0.6
            assert one.score == pytest.approx(one.log_probability / penalty)
    assert translator.hypotheses(lines, beam=4, n_best=2)[0] == both[0][:2]
    assert [one.text for one in translator.hypotheses("")] == [""]
    with pytest.raises(ConfigError, match="must be from 1 to the beam's 2, got 3"):
        translator.hypotheses(lines, beam=2, n_best=3)


def test_without_a_penalty_the_score_is_the_probability(translator, lines):
    for one in translator.hypotheses(lines[0], beam=3, length_penalty=0.0):
        assert one.score == one.log_probability and 0 < math.exp(one.score) < 1


def test_a_checkpoint_translates_on_any_backend_object(trained, translator, lines):
    backend = tmb.get_backend("numpy", dtype="float64")
    assert tmb.Translator.load(trained, backend).translate(lines) == translator.translate(lines)
    with pytest.raises(ConfigError, match="has its own device and dtype"):
        tmb.Translator.load(trained, backend, dtype="float32")


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


# The arguments of searches in Python: whole numbers, a bounded length penalty, and what may be left out.

SOURCE = [[4, 5, 6], [7, 3, 1]]
NOT_FROM_0_TO_10 = [float("nan"), float("inf"), -0.1, 10.5, 1e9, "1", True, None]


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(tmb.presets.d2l(10, 12, **SMALL))


@pytest.fixture(scope="module")
def decoder(backend):
    return backend.build(tmb.presets.d2l(None, 12, architecture="decoder", **SMALL))


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
