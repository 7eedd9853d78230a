"""What becomes of a line is decided by the line alone, not by those that it is translated with."""

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.data import Vocabulary
from transformer_mb.data.vocabulary import SPECIAL_TOKENS
from transformer_mb.decoding.inputs import room
from transformer_mb.errors import TokenError

WORDS = [*SPECIAL_TOKENS.values(), *"abcdefgh"]
LINES = ["a", "b c d e f g h a b c d e f g h a b c", "c d", "", "zebra a b c d e", "h " * 26]
SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "max_len": 40}


def endless(name="numpy", **options):
    """A model that never ends a translation, so that each has all the tokens that it may."""
    backend = tmb.get_backend(name, dtype="float64")
    model = backend.build(tmb.presets.d2l(12, 12, **SIZES), seed=2)
    weights = backend.get_weights(model)
    weights["decoder.dense.bias"][3] = -1e3
    backend.set_weights(model, weights)
    vocabulary = Vocabulary(WORDS, "words")
    return tmb.Translator(backend, model, vocabulary, vocabulary, **options)


def test_a_translation_is_at_most_twice_its_own_source_and_ten_more():
    found = endless().hypotheses(LINES, beam=1)
    expected = [0 if not line.split() else min(40, 2 * len(line.split()) + 10) for line in LINES]
    assert [len(one[0].tokens) for one in found] == expected


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam": 3},
        {"beam": 2, "coverage_penalty": 0.5},
        {"max_ratio": 0.7},
        {"sample": tmb.Sampling(seed=5)},
        {"prefixes": ["a b", "", "h", "a", "unseen c", ""]},
    ],
    ids=str,
)
def test_a_line_is_translated_as_alone_whatever_the_batch_and_the_order(options):
    batches = [endless(batch_size=size).translate(LINES, **options) for size in (1, 2, 64)]
    assert batches[0] == batches[1] == batches[2]
    if "sample" in options:  # drawn by a line's number
        return
    prefixes = options.get("prefixes")
    turned = {**options, "prefixes": prefixes[::-1]} if prefixes else options
    assert endless().translate(LINES[::-1], **turned) == batches[0][::-1]
    for number, line in enumerate(LINES):
        own = {**options, "prefixes": prefixes[number]} if prefixes else options
        assert endless().translate(line, **own) == batches[0][number]


def test_prompts_of_different_lengths_are_continued_as_far_as_alone():
    backend = tmb.get_backend("numpy", dtype="float64")
    model = backend.build(tmb.presets.d2l(None, 12, architecture="decoder", **{**SIZES, "max_len": 9}), seed=2)
    weights = backend.get_weights(model)
    weights["decoder.dense.bias"][3] = -1e3
    backend.set_weights(model, weights)
    prompts, lens = np.array([[2, 4, 5, 6, 7, 8], [2, 5, 1, 1, 1, 1], [2, 9, 9, 1, 1, 1]]), np.array([6, 2, 3])
    sampling = tmb.Sampling(seed=1)
    for limits in (None, [3, 8, 4]):
        for call, more in (("greedy", {}), ("beam", {"beam": 2}), ("sample", {"sampling": sampling})):
            together = getattr(backend, call)(model, prompts, lens, limits, **more)
            for row, length in enumerate(lens):
                own = {**more, "rows": [row]} if call == "sample" else more
                steps = None if limits is None else limits[row]
                assert getattr(backend, call)(model, prompts[row : row + 1, :length], [length], steps, **own) == [together[row]]
            assert [len(ids) for ids in together] == [4, 8, 7] if limits is None else limits
    with pytest.raises(TokenError, match="max_steps must be from 1 to max_len = 9"):
        backend.greedy(model, prompts, lens, [5, 1, 1])


def test_what_is_compiled_has_few_sizes_each_at_most_half_larger_than_asked_for():
    sizes = {room(steps, 10_000) for steps in range(1, 1001)}
    assert len(sizes) < 18 and all(steps <= room(steps, 10_000) <= max(8, 1.5 * steps) for steps in range(1, 1001))
    assert room(1000, 1001) == 1001


def test_a_prefix_comes_back_as_it_was_given():
    """In upper case, and with words that the vocabulary lacks."""
    vocabulary = Vocabulary(WORDS, "d2l")
    given = endless()
    translator = tmb.Translator(given.backend, given.model, vocabulary, vocabulary)
    for options in ({}, {"beam": 3}, {"sample": tmb.Sampling()}):
        upper, unknown = translator.translate(["a b", "a b"], prefixes=["A B,", "Zorglub  a"], **options)
        assert upper.startswith("A B, ") and unknown.startswith("Zorglub  a ") and "<unk>" not in unknown[:10]
    assert translator.hypotheses("a b", 2, prefixes="Zorglub")[0].text.startswith("Zorglub ")


@pytest.mark.parametrize("compat", ["correct", "d2l"])
def test_a_pair_is_scored_as_alone_and_as_the_search_scores_it(compat):
    """The book's code has no causal mask in evaluation: of a whole target at once, padding would be seen."""
    given = endless()
    model = given.backend.build(given.model.config.replace(compat_decode=compat), seed=2)
    given.backend.set_weights(model, given.backend.get_weights(given.model))
    translator = tmb.Translator(given.backend, model, given.source_vocabulary, given.target_vocabulary, max_steps=6)
    pairs = [(line, translator.translate(line)) for line in ("a b", "h g f e d c b a", "c")] + [("a", "b " * 20)]
    together = translator.score(pairs)
    for pair, score in zip(pairs, together, strict=True):
        assert score.log_probabilities == pytest.approx(translator.score([pair])[0].log_probabilities, rel=1e-9)
    for (line, _), score in zip(pairs[:3], together, strict=False):
        searched = translator.hypotheses(line, 1)[0].log_probability
        assert searched == pytest.approx(sum(score.log_probabilities[:6]), rel=1e-6)


def test_errors_count_lines_from_the_first_that_is_named():
    translator = endless()
    with pytest.raises(TokenError, match="Line 102 must be at most"):
        translator.translate(["a", "a " * 60], first=100)
    with pytest.raises(TokenError, match="The prefix of line 102 must be"):
        translator.translate(["a", "a"], prefixes=["", "a " * 60], first=100)
    backend = translator.backend
    decoder = backend.build(tmb.presets.d2l(None, 12, architecture="decoder", **SIZES))
    with pytest.raises(TokenError, match=r"Prompt 102 must hold token ids from 0 to 11, got 12\."):
        tmb.Generator(backend, decoder).generate([[2, 3], [2, 12]], first=100)
