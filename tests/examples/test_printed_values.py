"""What the examples print against what the documents print: data, shapes, and what holds whatever the numbers are."""

import json
import math

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.positions import sinusoid_table


@pytest.fixture(scope="session")
def figures(python):
    """Run an example's main in a folder; returns its figures and what it printed."""

    def run(module, folder, arguments=""):
        done = python("-c", f"from pathlib import Path; import {module}; {module}.main(Path({str(folder)!r}){arguments})")
        return json.loads((folder / "figures.json").read_text()), done.stdout

    return run


@pytest.fixture(scope="module")
def english_chinese(figures, tmp_path_factory):
    return figures("english_chinese", tmp_path_factory.mktemp("english_chinese"))


def test_the_walk_through(english_chinese):
    found, _ = english_chinese
    assert found["predicted"] == ["我来自中国", "你我是最好的朋友"]
    assert np.array(found["attention"]).shape == (2, 6, 14) and found["encoder"] == [2, 6, 14]
    weights = np.array(found["masked_softmax"])
    assert not weights[0, :, 4:].any() and not weights[1, :, 6:].any()
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-6)


def test_the_curve_of_positions(english_chinese):
    """A sum of 256 cosines at width 512, by a plain loop; and the table's own products anywhere on it."""
    found, table = english_chinese[0]["inner_products"], sinusoid_table(400, 512)
    assert len(found) == 200 and found[0] == 256.0
    for k in (1, 50, 199):
        assert found[k] == pytest.approx(sum(math.cos(k / 10000 ** (2 * j / 512)) for j in range(256)), abs=1e-9)
        assert table[170] @ table[170 + k] == pytest.approx(found[k], abs=1e-9)


def test_the_rotation_of_positions():
    """A step of k turns each pair of sine and cosine by the angle k / 10000^(2j/d)."""
    table, k = sinusoid_table(60, 14), 7
    for j in range(7):
        angle = k / 10000 ** (2 * j / 14)
        turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        np.testing.assert_allclose(table[20 + k, 2 * j : 2 * j + 2], turn @ table[20, 2 * j : 2 * j + 2], atol=1e-12)


def test_transpose_qkv_of_the_walk_through():
    """Its 6 x 14 matrix for two heads: the left seven columns are the first head's."""
    X = np.arange(6 * 14, dtype=float).reshape(1, 6, 14)
    backend = tmb.get_backend("numpy", dtype="float64")
    heads = backend.transpose_qkv(X, 2)
    assert heads.shape == (1, 2, 6, 7)
    np.testing.assert_array_equal(heads[0, 0], X[0, :, :7])
    np.testing.assert_array_equal(heads[0, 1], X[0, :, 7:])
    np.testing.assert_array_equal(backend.transpose_output(heads, 2), X)


@pytest.fixture(scope="module")
def german_english(figures, tmp_path_factory):
    """Narrow enough for a quick test; the full width is in test_targets.py."""
    narrow = ", num_hiddens=128, ffn_num_hiddens=256, encoder_num_layers=2, decoder_num_layers=2"
    return figures("german_english", tmp_path_factory.mktemp("german_english"), narrow)


def test_the_german_english_notes(german_english):
    found, printed = german_english
    assert "encoder input  [[1, 2, 3, 4, 0], [1, 2, 3, 5, 0]]" in printed
    assert "decoder input  [[6, 1, 2, 3, 4, 8], [6, 1, 2, 3, 5, 8]]" in printed
    assert "decoder output [[1, 2, 3, 4, 8, 7], [1, 2, 3, 5, 8, 7]]" in printed
    assert "[1, 2, 3, 4, 0] -> ['i', 'want', 'a', 'beer', '.']" in printed
    assert len(found["losses"]) == 100 and found["losses"][-1] < 0.1 < found["losses"][0]


def test_the_steps_of_the_prenorm_notebook(figures, tmp_path):
    """Every size that it prints, in its order: 22 of the encoder's and the decoder's, then the probabilities."""
    found, _ = figures("step_by_step", tmp_path, ", words=300")
    shapes = [(what, tuple(shape)) for what, shape in found["shapes"]]
    attention = [("q", (1, 8, 3, 64)), ("k", (1, 8, 3, 64)), ("v", (1, 8, 3, 64)), ("attention", (1, 8, 3, 3))]
    attention += [("mixed values", (1, 8, 3, 64)), ("heads joined", (1, 3, 512)), ("projected", (1, 3, 512))]
    sublayer = [("normalized", (1, 3, 512)), *attention, ("residual added", (1, 3, 512))]
    inner = [("normalized", (1, 3, 512)), ("feed-forward", (1, 3, 512)), ("residual added", (1, 3, 512))]
    side = [("{}: embeddings", (1, 3, 512)), ("{}: with positions", (1, 3, 512))]
    encoder = [*side, *sublayer, *inner, ("normalized", (1, 3, 512)), ("hidden", (1, 3, 512))]
    decoder = [*side, *sublayer, *sublayer, *inner, ("normalized", (1, 3, 512)), ("log-probabilities", (1, 3, 300))]
    expected = [
        (what.format(name), shape) for name, part in (("encoder", encoder), ("decoder", decoder)) for what, shape in part
    ]
    assert shapes == expected
    assert found["masked"] == 0.0 and found["apart"] < 1e-4


def test_the_fused_embedding_notebook(figures, tmp_path):
    found, printed = figures("fused_embedding", tmp_path, ", num_hiddens=64, ffn_num_hiddens=64")
    assert found["attention"] == [128, 64, 512] and found["logits"] == [4, 10, 60]
    assert found["losses"][1] < found["losses"][0] and found["alone"][1] < found["alone"][0]
    assert "Decoder (4, 10, 60)" in printed and "MISSED" not in printed


BLOCK = (24, 24, 24, 24, [100, 24], 24, 48, 8, 0.5)


def test_the_shapes_of_the_book():
    backend = tmb.get_backend("numpy")
    X, lengths = np.ones((2, 100, 24)), np.array([3, 2])
    assert backend.apply(backend.layer("AddNorm", [3, 4], 0.5), np.ones((2, 3, 4)), np.ones((2, 3, 4))).shape == (2, 3, 4)
    encoded = backend.apply(backend.layer("EncoderBlock", *BLOCK), X, lengths)
    assert encoded.shape == (2, 100, 24)
    assert backend.apply(backend.layer("DecoderBlock", *BLOCK, 0), X, [encoded, lengths, [None]])[0].shape == (2, 100, 24)
    encoder = backend.layer("TransformerEncoder", 200, 24, 24, 24, 24, [100, 24], 24, 48, 8, 2, 0.5)
    assert backend.apply(encoder, np.ones((2, 100), dtype=int), lengths).shape == (2, 100, 24)


def test_the_attention_of_the_book():
    """Two layers of four heads over ten padded steps; a translation of five words makes six queries, <bos> being the first."""
    backend = tmb.get_backend("numpy")
    model = backend.build(tmb.presets.d2l(30, 30), seed=0)
    source = np.array([[4, 5, 6, 3, 1, 1, 1, 1, 1, 1]])
    found = backend.attention(model, source, np.array([[2, 7, 8, 9, 10, 11]]), [4])
    stacked = {kind: np.concatenate(layers) for kind, layers in found.items()}
    assert stacked["encoder"].shape == (2, 4, 10, 10) and stacked["decoder_cross"].shape == (2, 4, 6, 10)
    filled = np.zeros((2, 4, 6, 10))  # as the book fills it up
    filled[..., :6] = stacked["decoder_self"]
    assert not stacked["encoder"][..., 4:].any() and not stacked["decoder_cross"][..., 4:].any()
    assert not filled[..., ~np.tri(6, 10, dtype=bool)].any()
    for weights in (*stacked.values(), filled):
        np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-6)


# The book's four printed lines of each framework: translation, target, figure.
PRINTED_BLEU = [
    ("va !", "va !", 1.0),
    ("j'ai perdu .", "j'ai perdu .", 1.0),
    ("il est malade .", "il est calme .", 0.658),
    ("il est paresseux .", "il est calme .", 0.658),
    ("je suis chez moi .", "je suis chez moi .", 1.0),
]


def test_the_books_bleu(python):
    code = "import json, book_bleu; print(json.dumps([book_bleu.book_bleu(p, l, 2) for p, l, _ in json.loads(r'''{}''')]))"
    done = python("-c", code.format(json.dumps(PRINTED_BLEU)))
    assert [round(score, 3) for score in json.loads(done.stdout)] == [score for _, _, score in PRINTED_BLEU]
