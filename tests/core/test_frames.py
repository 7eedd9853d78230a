"""Frames, the ids before and after a text, in vocabularies, translations, scores and prompts."""

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.data.vocabulary import Vocabulary
from transformer_mb.errors import ConfigError, DataError, TokenError

TOKENS = ["<unk>", "<pad>", "<s>", "</s>", "en", "fr", "a", "b", "c"]
SPECIAL = {"unk": 0, "pad": 1, "bos": 2, "eos": 3}
FRAMES = {"before and after": ((2,), (3,)), "a language last": ((), (3, 4)), "a language first": ((5,), (3,))}
SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_heads": 2, "num_layers": 1, "max_len": 12}


def vocabulary(frame=None):
    return Vocabulary(TOKENS, "words", SPECIAL, frame)


@pytest.fixture(scope="module")
def backend():
    return tmb.get_backend("numpy", dtype="float64")


@pytest.fixture(scope="module")
def model(backend):
    sizes = {name: SIZES[name] for name in ("num_hiddens", "ffn_num_hiddens", "max_len")}
    heads = {f"{side}_num_{what}": SIZES[f"num_{what}"] for side in ("encoder", "decoder") for what in ("heads", "layers")}
    config = tmb.presets.d2l(len(TOKENS), len(TOKENS), **sizes, **heads, pad_id=1, bos_id=2, eos_id=3)
    return backend.build(config, seed=3)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_vocabulary_keeps_its_frame(frame):
    own = vocabulary(frame)
    again = Vocabulary.from_json(own.to_json())
    assert again == own != vocabulary() and again.frame == frame
    opening, closing = map(list, frame)
    assert own.framed([6, 7]) == [*opening, 6, 7, *closing] and vocabulary().framed([6, 7]) == [6, 7, 3]
    assert own.decode([*opening, 6, 7, *closing]) == "a b"
    assert own.encode("a fr b") == [6, 0 if 5 in opening else 5, 7]  # no text spells what frames it


@pytest.mark.parametrize("frame", [((2,),), ((2,), 3), ((9,), (3,)), ((-1,), ()), ("ab", ()), ((True,), ())])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(DataError, match="frame of a vocabulary must be two lists of ids from 0 to 8"):
        vocabulary(frame)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_model_reads_each_line_in_its_frame(frame, backend, model):
    """In translations, of several lengths at once, and in scores: the same as the backend makes of the ids."""
    own, lines = vocabulary(frame), ["a b c", "b", "c c a b"]
    translator = tmb.Translator(backend, model, own, vocabulary(), max_steps=6)
    source = [own.framed(own.encode(line)) for line in lines]
    expected = [backend.greedy(model, np.array([ids]), max_steps=6)[0] for ids in source]
    assert translator.translate(lines) == [vocabulary().decode(ids) for ids in expected]
    framed = tmb.Translator(backend, model, own, own)
    (score,) = framed.score([("a b", "c a")])
    target = own.framed(own.encode("c a"))
    logits = backend.logits(model, np.array([own.framed([6, 7])]), np.array([[2, *target[:-1]]]))[0]
    chosen = [row[token] - np.log(np.exp(row).sum()) for row, token in zip(logits, target, strict=True)]
    assert score.tokens == own.tokens(target) and score.log_probabilities == pytest.approx(chosen)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_training_has_each_side_in_its_frame(frame):
    """By hand; the first input is the start token, and what frames a target is learned too."""
    opening, closing = map(list, frame)
    (batch,) = tmb.Batches(
        [([6, 7], [8]), ([8], [7, 6, 8])], 2, shuffle=False, trimmed=True, start_id=2, frames=(frame, None)
    ).epoch(0)
    rows = sorted(batch.source.tolist())
    assert rows == sorted([[*opening, 6, 7, *closing], [*opening, 8, *closing, 1]])
    (batch,) = tmb.Batches(
        [([6, 7], [8]), ([8], [7, 6, 8])], 2, shuffle=False, trimmed=True, start_id=2, frames=(None, frame)
    ).epoch(0)
    framed = [[*opening, 8, *closing, 1, 1], [*opening, 7, 6, 8, *closing]]
    assert sorted(batch.target_out.tolist()) == sorted(framed)
    assert sorted(batch.target_in.tolist()) == sorted([2, *row[:-1]] for row in framed)
    assert sorted(batch.target_valid_lens.tolist()) == [1 + len(opening + closing), 3 + len(opening + closing)]


def test_a_text_that_is_cut_keeps_its_frame():
    frame = (5,), (3, 4)
    (batch,) = tmb.Batches([([6, 7, 8], [6, 7, 8, 6])], 1, num_steps=5, frames=(frame, None)).epoch(0)
    assert batch.source.tolist() == [[5, 6, 7, 3, 4]] and batch.target_out.tolist() == [[6, 7, 8, 6, 3]]
    with pytest.raises(ConfigError, match="must be allowed more than the 3 tokens that frame it, got 3"):
        tmb.Batches([([6, 7, 8], [6])], 1, num_steps=3, frames=(frame, None))


def test_pairs_that_are_too_long_in_their_frame_are_refused_or_dropped(tmp_path):
    """With max_len 12 and three tokens around a source, one of ten words is too long, and as a target it is not."""
    base, model = tmp_path / "base", {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "max_len": 12}
    words = vocabulary(((5,), (3, 4))), vocabulary()
    pairs = [("a b", "a"), ("a " * 10, "b"), ("b", "a " * 10)]
    given = {"tokenizer": words, "backend": "numpy", "epochs": 1, "batch_size": 2}
    with pytest.raises(DataError, match="pair 2: the source must be at most 12 tokens long .* but it has 13; 1 of 3 pairs is"):
        tmb.train(pairs, base, **given, **model)
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    trained = tmb.train(data, base, bad_lines="drop", **given, **model)
    assert trained.corpus.too_long == 1 and trained.corpus.pairs == 2


def test_a_line_may_be_as_long_as_its_frame_leaves_room(backend, model):
    translator = tmb.Translator(backend, model, vocabulary(((2,), (3, 4))), vocabulary(), max_steps=2)
    assert translator.longest == 9
    translator.translate("a " * 9)
    with pytest.raises(TokenError, match="at most 9 tokens long"):
        translator.translate("a " * 10)


def test_a_prompt_begins_as_its_vocabulary_says(backend):
    sizes = {"num_hiddens": 8, "ffn_num_hiddens": 8, "decoder_num_heads": 2, "decoder_num_layers": 1, "max_len": 12}
    ids = {"pad_id": 1, "bos_id": 2, "eos_id": 3}
    config = tmb.TransformerConfig(
        architecture="decoder", target_vocab_size=len(TOKENS), **sizes, **ids, compat_decode="correct"
    )
    decoder = backend.build(config, seed=1)
    for frame, before in ((None, [2]), (((), ()), []), (((5,), ()), [5])):
        generator = tmb.Generator(backend, decoder, vocabulary(frame), max_steps=5)
        (got,) = generator.generate(["a b"])
        assert got == vocabulary(frame).decode(backend.greedy(decoder, np.array([[*before, 6, 7]]), max_steps=5)[0])
