"""Masks and tables of positions in a file, and what ``ignore`` may leave out of it."""

from functools import partial

import numpy as np
import pytest

import transformer_mb as tmb
from porting.small_model import FEW, built, refused
from transformer_mb.errors import PortError
from transformer_mb.porting.families import d2l_classes
from transformer_mb.porting.families.position_tables import causal_masks
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.formats.held import held

D, ROWS = 8, 11
STACK = {
    **{f"net.layers.0.self_attn.in_proj_{leaf}": (3 * D, D)[: 2 - (leaf == "bias")] for leaf in ("weight", "bias")},
    **{"net.layers.0.self_attn.out_proj.weight": (D, D), "net.layers.0.self_attn.out_proj.bias": (D,)},
    **{"net.layers.0.linear1.weight": (12, D), "net.layers.0.linear1.bias": (12,)},
    **{"net.layers.0.linear2.weight": (D, 12), "net.layers.0.linear2.bias": (D,)},
    **{f"net.layers.0.norm{number}.{leaf}": (D,) for number in (1, 2) for leaf in ("weight", "bias")},
    "words.weight": (ROWS, D),
}
HEADS = {"num_heads": 2}
SETTINGS = {**HEADS, "source_embedding": "words"}
MASKS = {
    "bool": np.triu(np.ones((6, 6), bool), 1),
    "infinite": np.triu(np.full((6, 6), -np.inf, np.float32), 1),
    "bias": np.tril(np.ones((1, 1, 6, 6), np.float32)),
    "whole": np.tril(np.ones((6, 6), np.uint8)),
    "large": np.triu(np.full((1, 6, 6), -1e9, np.float32), 1),
    "turned": np.triu(np.ones((6, 6), np.float32)),
}


@pytest.fixture
def saved(tmp_path):
    def save(**more):
        random = np.random.default_rng(0)
        tensors = {name: random.random(shape).astype(np.float32) for name, shape in STACK.items()}
        np.savez(tmp_path / "m.npz", **tensors, **more)
        return tmp_path / "m.npz"

    return save


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("more", [{}, {"ignore": ["mask"]}])
def test_a_single_stack_with_a_causal_mask_must_be_said_to_be_a_decoder_or_not(saved, mask, more):
    file = saved(mask=MASKS[mask])
    with pytest.raises(PortError, match='mask .* say "architecture": "decoder" .* or "architecture": "encoder"'):
        read_source(file, "torch_transformer", {**SETTINGS, **more})
    model = read_source(file, "torch_transformer", {**SETTINGS, **more, "architecture": "decoder"}).model
    assert model.config.architecture == "decoder"
    assert any("mask: a causal mask, which is computed here" in note for note in model.notes) != bool(more)
    assert read_source(file, "torch_transformer", {**SETTINGS, **more, "architecture": "encoder"}).model.config.has_encoder


def test_what_is_no_causal_mask_is_not_taken_for_one():
    others = [np.ones((6, 6)), np.eye(6), np.arange(36.0).reshape(6, 6), np.ones(6), np.ones(()), np.ones((1, 1))]
    assert not causal_masks({str(number): array for number, array in enumerate(others)})


@pytest.mark.parametrize("shape", [(30, D), (1, 30, D), (D, 30), (D, D)])
def test_a_matrix_that_may_be_positions_is_not_left_out_unsaid(saved, shape):
    table = np.random.default_rng(1).random(shape).astype(np.float32)
    file, ignored = saved(table=table), {**SETTINGS, "ignore": ["table"]}
    refused("positions", read_source, file, "torch_transformer", ignored)
    if len(shape) == 2:
        assert read_source(file, "torch_transformer", {**ignored, "position": "sinusoidal"}).model.config.max_len == 1000
    if shape[-1] == D:
        learned = read_source(file, "torch_transformer", {**SETTINGS, "source_positions": "table"}).model
        assert learned.config.position == "learned"


def test_heads_and_second_vocabularies_may_be_left_out(saved):
    heads = {"head.weight": np.ones((3, D), np.float32), "head.bias": np.ones(3, np.float32)}
    file = saved(**heads, out=np.ones((ROWS, D), np.float32))
    model = read_source(file, "torch_transformer", {**SETTINGS, "ignore": ["head", "out"]}).model
    assert model.config.position == "sinusoidal"
    assert any("left out, as ignore says: " in note and "with them is not proved" in note for note in model.notes)


def books(tmp_path, names=lambda weights: weights, **tables):
    config = tmb.presets.d2l(11, 13, **FEW, encoder_num_heads=2, decoder_num_heads=2)
    np.savez(tmp_path / "m.npz", **names(built(config).weights), **tables)
    return tmp_path / "m.npz"


@pytest.fixture
def of_book(tmp_path):
    """A file of the book's names, and tables beside them."""
    return partial(books, tmp_path)


def test_a_matrix_beside_the_books_names_is_held_to_the_same(tmp_path):
    file = books(tmp_path, table=np.ones((30, D), np.float32))
    with pytest.raises(PortError, match=r'table \[30, 8\] may be a table .* or say "position": "sinusoidal"'):
        read_source(file, None, {"num_heads": 2, "ignore": ["table"]})


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (lambda w: {f"arr_{n}": a for n, a in enumerate(w.values())}, r"no names of layers: np.savez\(file, \*\*tensors\)"),
        (lambda w: {n[8:]: a for n, a in w.items() if n.startswith("encoder.")}, "of an encoder alone: save .*'encoder'"),
        (lambda w: {n[8:]: a for n, a in w.items() if n.startswith("decoder.")}, "of a decoder alone: save the whole model"),
    ],
)
def test_names_that_belong_to_no_family_say_how_to_save(tmp_path, names, words):
    refused(words, read_source, books(tmp_path, names), None, {"num_heads": 2})


@pytest.mark.parametrize("ending", ["state_dict", "model_state_dict", "weights", "params"])
def test_two_dictionaries_of_one_models_sides_are_one_model(ending):
    array, is_tensor = np.ones((3, 3)), lambda value: isinstance(value, np.ndarray)
    entries = {f"{side}_{ending}": {"blks.0.w": array} for side in ("encoder", "decoder")}
    assert set(held({**entries, "epoch": 3}, "m.pt", is_tensor).tensors) == {"encoder.blks.0.w", "decoder.blks.0.w"}
    twice = held({**entries, "encoder": {"w": array}}, "m.pt", is_tensor)
    assert "encoder.w" in twice.tensors and len(twice.tensors) == 3


def angles(steps):
    return np.arange(steps)[:, None] / 10000 ** (np.arange(0, 8, 2) / 8)


def interleaved(steps):
    return np.stack([np.sin(angles(steps)), np.cos(angles(steps))], axis=2).reshape(steps, 8)


def halves(steps):
    return np.concatenate([np.sin(angles(steps)), np.cos(angles(steps))], axis=1)


@pytest.mark.parametrize("made", [interleaved, halves])
@pytest.mark.parametrize("more", [{}, {"ignore": ["encoder.pos_encoding"]}])
def test_the_books_own_table_needs_no_ignore_and_shows_layout_and_length(of_book, made, more):
    file = of_book(**{"encoder.pos_encoding.P": made(30).astype(np.float32)[None]})
    config = read_source(file, None, {**HEADS, **more}).model.config
    assert (config.sinusoid_layout, config.max_len) == (made.__name__, 30)


def test_one_too_few_of_two_tables_bounds_both(of_book):
    file = of_book(**{f"{side}.pos_encoding.P": interleaved(rows)[None] for side, rows in (("encoder", 30), ("decoder", 20))})
    assert read_source(file, None, HEADS).model.config.max_len == 20


@pytest.mark.parametrize(
    "table", [np.zeros((1, 30, 8)), interleaved(30)[None] * 0.5, halves(30)[None, :, ::-1], interleaved(31)[None, ::-1]]
)
@pytest.mark.parametrize("more", [{}, {"ignore": ["pe"]}])
def test_another_table_is_refused(of_book, table, more):
    with pytest.raises(PortError, match="pe .* holds positions, but neither of the tables .* learned positions must be called"):
        read_source(of_book(pe=table.astype(np.float32)), None, {**HEADS, **more})


def test_two_layouts_in_one_file_are_refused(of_book):
    with pytest.raises(
        PortError, match="Both sides must have the same sinusoids, but pe holds .*interleaved.* and pos .*halves"
    ):
        read_source(of_book(pe=interleaved(30), pos=halves(30)), None, HEADS)


def test_what_the_settings_say_against_the_table_is_refused(of_book):
    with pytest.raises(PortError, match="sinusoid_layout is 'halves', not 'interleaved'"):
        read_source(of_book(pe=halves(30)), None, {**HEADS, "sinusoid_layout": "interleaved"})
    refused("max_len is 30, not 50", read_source, of_book(pe=halves(30)), None, {**HEADS, "max_len": 50})


def test_the_books_bert_is_called_what_it_is(tmp_path):
    """Names of d2l 0.17's BERTModel (14.8.4), as its state_dict has them."""
    names = [f"encoder.blks.{i}.attention.W_{one}.weight" for i in range(2) for one in "qkvo"]
    tensors = {name: np.ones((8, 8), np.float32) for name in names}
    tensors |= {f"encoder.{kind}_embedding.weight": np.ones((5, 8), np.float32) for kind in ("token", "segment")}
    np.savez(tmp_path / "bert.npz", **tensors, **{"encoder.pos_embedding": np.ones((1, 9, 8), np.float32)})
    with pytest.raises(PortError, match="of D2L's BERT .chapter 14, BERTModel., which no family here reads"):
        read_source(tmp_path / "bert.npz", None, HEADS)


def test_learned_positions_as_a_bare_parameter_are_read(of_book):
    tables = {f"{side}.pos_embedding": np.random.default_rng(0).random((1, 30, 8)) for side in ("encoder", "decoder")}
    model = read_source(of_book(**tables), None, HEADS).model
    assert (model.config.position, model.config.max_len) == ("learned", 30)
    assert np.array_equal(model.weights["decoder.pos_embedding.weight"], tables["decoder.pos_embedding"][0])


def test_settings_that_speak_of_another_family_are_refused_rather_than_passed_by(of_book):
    with pytest.raises(PortError, match="source_positions, output must be absent: the tensors have D2L's names"):
        read_source(of_book(), None, {**HEADS, "output": "decoder.dense", "source_positions": "pe"})


def test_a_table_that_d2ls_classes_do_not_compute_is_run_by_ours(of_book, tmp_path):
    """And not taken for a setting of the user's that contradicts them."""
    report = tmb.port(of_book(pe=halves(30)), tmp_path / "m.params", to="mxnet", config=HEADS)
    (tmp_path / "m.params.config.json").unlink()
    assert report.holds
    source = read_source(tmp_path / "m.npz", None, HEADS)
    native = type(source.native)(format="mxnet", tensors=source.native.tensors)
    assert "sinusoid_layout = halves" in d2l_classes.why_not(source.model, native, HEADS)


@pytest.mark.parametrize("shape", [(1, 1, 30, 8), (30, 1, 8), (30, 8), (1, 8, 30)])
def test_axes_of_one_and_a_table_that_lies_the_other_way_round_are_seen_through(of_book, shape):
    table = interleaved(30) if shape[-1] == 8 else interleaved(30).T
    assert read_source(of_book(pe=table.reshape(shape)), None, HEADS).model.config.max_len == 30


def test_fewer_positions_than_the_table_has_may_be_said(of_book):
    assert read_source(of_book(pe=interleaved(30)), None, {**HEADS, "max_len": 20}).model.config.max_len == 20
