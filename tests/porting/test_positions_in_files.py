"""A table of positions that a file of D2L's names holds: compared with the sinusoids, with and without ``ignore``."""

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.errors import PortError
from transformer_mb.porting.files.sources import read_source
from transformer_mb.porting.proof import d2l_classes

SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2, "decoder_num_heads": 2}
HEADS = {"num_heads": 2}


def angles(steps):
    return np.arange(steps)[:, None] / 10000 ** (np.arange(0, 8, 2) / 8)


def interleaved(steps):
    return np.stack([np.sin(angles(steps)), np.cos(angles(steps))], axis=2).reshape(steps, 8)


def halves(steps):
    return np.concatenate([np.sin(angles(steps)), np.cos(angles(steps))], axis=1)


@pytest.fixture
def saved(tmp_path):
    def save(**tables):
        backend = tmb.get_backend("numpy")
        weights = backend.get_weights(backend.build(tmb.presets.d2l(11, 13, **SIZES), seed=0))
        np.savez(tmp_path / "m.npz", **weights, **tables)
        return tmp_path / "m.npz"

    return save


@pytest.mark.parametrize("made", [interleaved, halves])
@pytest.mark.parametrize("more", [{}, {"ignore": ["encoder.pos_encoding"]}])
def test_the_books_own_table_needs_no_ignore_and_shows_layout_and_length(saved, made, more):
    file = saved(**{"encoder.pos_encoding.P": made(30).astype(np.float32)[None]})
    config = read_source(file, None, {**HEADS, **more}).model.config
    assert (config.sinusoid_layout, config.max_len) == (made.__name__, 30)


def test_one_too_few_of_two_tables_bounds_both(saved):
    file = saved(**{f"{side}.pos_encoding.P": interleaved(rows)[None] for side, rows in (("encoder", 30), ("decoder", 20))})
    assert read_source(file, None, HEADS).model.config.max_len == 20


@pytest.mark.parametrize(
    "table", [np.zeros((1, 30, 8)), interleaved(30)[None] * 0.5, halves(30)[None, :, ::-1], interleaved(31)[None, ::-1]]
)
@pytest.mark.parametrize("more", [{}, {"ignore": ["pe"]}])
def test_another_table_is_refused(saved, table, more):
    with pytest.raises(PortError, match="pe .* holds positions, but neither of the tables .* learned positions must be called"):
        read_source(saved(pe=table.astype(np.float32)), None, {**HEADS, **more})


def test_two_layouts_in_one_file_are_refused(saved):
    with pytest.raises(
        PortError, match="Both sides must have the same sinusoids, but pe holds .*interleaved.* and pos .*halves"
    ):
        read_source(saved(pe=interleaved(30), pos=halves(30)), None, HEADS)


def test_what_the_settings_say_against_the_table_is_refused(saved):
    with pytest.raises(PortError, match="sinusoid_layout is 'halves', not 'interleaved'"):
        read_source(saved(pe=halves(30)), None, {**HEADS, "sinusoid_layout": "interleaved"})
    with pytest.raises(PortError, match="max_len is 30, not 50"):
        read_source(saved(pe=halves(30)), None, {**HEADS, "max_len": 50})


def test_the_books_bert_is_called_what_it_is(tmp_path):
    """Names of d2l 0.17's BERTModel (14.8.4), as its state_dict has them."""
    names = [f"encoder.blks.{i}.attention.W_{one}.weight" for i in range(2) for one in "qkvo"]
    tensors = {name: np.ones((8, 8), np.float32) for name in names}
    tensors |= {f"encoder.{kind}_embedding.weight": np.ones((5, 8), np.float32) for kind in ("token", "segment")}
    np.savez(tmp_path / "bert.npz", **tensors, **{"encoder.pos_embedding": np.ones((1, 9, 8), np.float32)})
    with pytest.raises(PortError, match="of D2L's BERT .chapter 14, BERTModel., which no family here reads"):
        read_source(tmp_path / "bert.npz", None, HEADS)


def test_learned_positions_as_a_bare_parameter_are_read(saved):
    tables = {f"{side}.pos_embedding": np.random.default_rng(0).random((1, 30, 8)) for side in ("encoder", "decoder")}
    model = read_source(saved(**tables), None, HEADS).model
    assert (model.config.position, model.config.max_len) == ("learned", 30)
    assert np.array_equal(model.weights["decoder.pos_embedding.weight"], tables["decoder.pos_embedding"][0])


def test_settings_that_speak_of_another_family_are_refused_rather_than_passed_by(saved):
    with pytest.raises(PortError, match="source_positions, output must be absent: the tensors have D2L's names"):
        read_source(saved(), None, {**HEADS, "output": "decoder.dense", "source_positions": "pe"})


def test_a_table_that_d2ls_classes_do_not_compute_is_run_by_ours(saved, tmp_path):
    """And not taken for a setting of the user's that contradicts them."""
    report = tmb.port(saved(pe=halves(30)), tmp_path / "m.params", to="mxnet", config=HEADS)
    (tmp_path / "m.params.config.json").unlink()
    assert report.holds
    source = read_source(tmp_path / "m.npz", None, HEADS)
    native = type(source.native)(format="mxnet", tensors=source.native.tensors)
    assert "sinusoid_layout = halves" in d2l_classes.why_not(source.model, native, HEADS)


@pytest.mark.parametrize("shape", [(1, 1, 30, 8), (30, 1, 8), (30, 8), (1, 8, 30)])
def test_axes_of_one_and_a_table_that_lies_the_other_way_round_are_seen_through(saved, shape):
    table = interleaved(30) if shape[-1] == 8 else interleaved(30).T
    assert read_source(saved(pe=table.reshape(shape)), None, HEADS).model.config.max_len == 30


def test_fewer_positions_than_the_table_has_may_be_said(saved):
    assert read_source(saved(pe=interleaved(30)), None, {**HEADS, "max_len": 20}).model.config.max_len == 20
