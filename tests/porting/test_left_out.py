"""What ``ignore`` may leave out of a file: masks tell how layers were called, matrices may be positions."""

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.errors import PortError
from transformer_mb.porting.families.causal_masks import causal_masks
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
SETTINGS = {"num_heads": 2, "source_embedding": "words"}
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
    with pytest.raises(PortError, match="positions"):
        read_source(file, "torch_transformer", ignored)
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


def books(tmp_path, names):
    backend = tmb.get_backend("numpy")
    sizes = {"num_hiddens": D, "ffn_num_hiddens": 12, "encoder_num_heads": 2, "decoder_num_heads": 2}
    weights = backend.get_weights(backend.build(tmb.presets.d2l(11, 13, **sizes), seed=0))
    np.savez(tmp_path / "m.npz", **names(weights))
    return tmp_path / "m.npz"


def test_a_matrix_beside_the_books_names_is_held_to_the_same(tmp_path):
    file = books(tmp_path, lambda weights: {**weights, "table": np.ones((30, D), np.float32)})
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
    with pytest.raises(PortError, match=words):
        read_source(books(tmp_path, names), None, {"num_heads": 2})


@pytest.mark.parametrize("ending", ["state_dict", "model_state_dict", "weights", "params"])
def test_two_dictionaries_of_one_models_sides_are_one_model(ending):
    array, is_tensor = np.ones((3, 3)), lambda value: isinstance(value, np.ndarray)
    entries = {f"{side}_{ending}": {"blks.0.w": array} for side in ("encoder", "decoder")}
    assert set(held({**entries, "epoch": 3}, "m.pt", is_tensor).tensors) == {"encoder.blks.0.w", "decoder.blks.0.w"}
    twice = held({**entries, "encoder": {"w": array}}, "m.pt", is_tensor)
    assert "encoder.w" in twice.tensors and len(twice.tensors) == 3
