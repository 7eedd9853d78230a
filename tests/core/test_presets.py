"""The published variants: what their documents fix, their recipes, and the two schemes of initial weights."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb import get_backend
from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import ConfigError
from transformer_mb.initialization import initial_weights
from transformer_mb.parameters import parameter_shapes
from transformer_mb.presets import ARCHITECTURES, PRESETS, RECIPES, annotated, check_name, d2l, vaswani_base
from transformer_mb.training import TrainingRecipe

SMALL = {
    "num_hiddens": 8,
    "ffn_num_hiddens": 12,
    "encoder_num_heads": 2,
    "decoder_num_heads": 2,
    "encoder_num_layers": 2,
    "decoder_num_layers": 2,
    "max_len": 20,
}
D, F = 512, 2048
SQUARE, FFN = D * D, 2 * D * F


def count(config):
    return sum(math.prod(shape) for shape in parameter_shapes(config).values())


def test_there_is_one_of_each_kind():
    names = ["d2l", "notes_de_en", "stepwise_prenorm", "fused_embedding", "vaswani_base", "annotated"]
    assert list(PRESETS) == list(RECIPES) == list(ARCHITECTURES) == names
    with pytest.raises(ConfigError, match=r"must be one of d2l, .*, annotated, got 'gpt9'"):
        check_name("gpt9")


def test_d2l_is_the_default():
    assert PRESETS["d2l"](11, 13) == TransformerConfig(source_vocab_size=11, target_vocab_size=13)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Worked out from the documents: matrices, then biases, then norms, by block; then embeddings and output.
        ("notes_de_en", 6 * (4 * SQUARE + FFN) + 6 * (8 * SQUARE + FFN) + (6 + 9) * D + 9 * D),
        ("stepwise_prenorm", 12 * SQUARE + 12 * D + 2 * (FFN + F + D) + (2 + 3 + 1 + 1) * 2 * D + (6 + 9) * D + 9 * (D + 1)),
        (
            "fused_embedding",
            6 * (4 * (SQUARE + D) + FFN + F + D + 4 * D) + 6 * (8 * (SQUARE + D) + FFN + F + D + 6 * D) + 15 * D + 9 * (D + 1),
        ),
        # 44,140,544 is what torch.nn.Transformer() has, which is of the same size, biases and final norms.
        ("annotated", 44_140_544 + (6 + 9) * D + 9 * (D + 1)),
    ],
)
def test_parameter_counts(name, expected):
    assert count(PRESETS[name](6, 9)) == expected


def test_vaswani_base_stores_one_table():
    """Section 3.4: one matrix for both embeddings and the output. No attention bias, FFN biases (equation 2)."""
    config = PRESETS["vaswani_base"](37_000, 37_000)
    blocks = 6 * (4 * SQUARE + FFN + F + D + 4 * D) + 6 * (8 * SQUARE + FFN + F + D + 6 * D)
    assert count(config) == blocks + 37_000 * D
    with pytest.raises(ConfigError, match="equal vocabulary sizes"):
        PRESETS["vaswani_base"](6, 9)


def test_ids_and_dropout_of_the_documents():
    notes, annotated, fused = (PRESETS[name](9, 9) for name in ("notes_de_en", "annotated", "fused_embedding"))
    assert (notes.pad_id, notes.start_id, notes.eos_id, notes.dropout) == (0, 6, 7, 0.0)
    assert (annotated.bos_id, annotated.eos_id, annotated.pad_id) == (0, 1, 2)
    assert (annotated.dropout, annotated.attention_dropout_rate, annotated.ffn_dropout) == (0.1, 0.1, 0.1)
    assert (fused.dropout, fused.attention_dropout_rate, fused.ffn_dropout) == (0.1, 0.0, 0.1)
    assert fused.pad_id == 1 and fused.padding_vector_zero and not fused.embedding_scale


@pytest.mark.parametrize("name", PRESETS)
def test_a_small_one_takes_a_training_step_by_its_recipe(name):
    config = PRESETS[name](13, 13, **SMALL)
    recipe = TrainingRecipe(**RECIPES[name])
    backend = get_backend("numpy", dtype="float64")
    model = backend.build(config, seed=1)
    batch = Batch(
        np.array([[4, 5, 8], [9, 10, config.pad_id]]),
        np.array([3, 2]),
        np.array([[config.start_id, 4, 5], [config.start_id, 8, config.pad_id]]),
        np.array([[4, 5, config.eos_id], [8, config.eos_id, config.pad_id]]),
        np.array([3, 2]),
    )
    before = backend.get_weights(model)
    trainer = backend.trainer(model, **recipe.trainer_options())
    loss = float(trainer.step(batch))
    assert math.isfinite(loss) and loss > 0
    assert any(np.any(before[key] != after) for key, after in backend.get_weights(model).items())


@pytest.mark.parametrize("name", PRESETS)
def test_recipes_are_complete_and_travel_as_json(name):
    recipe = TrainingRecipe(**RECIPES[name])
    assert TrainingRecipe.from_dict(recipe.to_dict()) == recipe
    config = PRESETS[name](13, 13, **SMALL)
    assert TransformerConfig.from_json(config.to_json()) == config


def test_the_recipes_say_what_the_documents_say():
    recipes = {name: TrainingRecipe(**fields) for name, fields in RECIPES.items()}
    notes, vaswani = recipes["notes_de_en"], recipes["vaswani_base"]
    assert (notes.optimizer, notes.learning_rate, notes.momentum, notes.clip_norm) == ("sgd", 1e-3, 0.99, None)
    assert (notes.normalization, notes.epochs, notes.batch_size) == ("tokens", 100, 2)
    assert (vaswani.betas, vaswani.eps, vaswani.warmup_steps, vaswani.label_smoothing) == ((0.9, 0.98), 1e-9, 4000, 0.1)
    assert (recipes["annotated"].warmup_steps, recipes["annotated"].schedule) == (3000, "vaswani")
    assert recipes["d2l"].normalization == "steps" and recipes["fused_embedding"].normalization == "tokens"


def test_num_heads_and_num_layers_are_of_both_sides():
    for preset in PRESETS.values():
        config = preset(10, 10, num_heads=2, num_layers=3, num_hiddens=8)
        assert (config.encoder_num_heads, config.decoder_num_heads) == (2, 2)
        assert (config.encoder_num_layers, config.decoder_num_layers) == (3, 3)
    with pytest.raises(ConfigError, match="num_heads sets both sides, got num_heads = 2 beside decoder_num_heads = 4"):
        tmb.presets.d2l(10, 12, num_heads=2, decoder_num_heads=4)


def test_presets_are_listed_with_their_sizes_and_recipes(cli, tmp_path):
    outcome = cli("presets", "--json", tmp_path / "presets.json")
    listed = {one["name"]: one for one in json.loads((tmp_path / "presets.json").read_text())}
    assert outcome.status == 0 and set(listed) == set(tmb.presets.PRESETS)
    for name, one in listed.items():
        config = tmb.presets.PRESETS[name](50, 50)
        assert f"{name}: " in outcome.out and one["model"]["num_hiddens"] == config.num_hiddens
    words = " ".join(outcome.out.split())  # lines are as wide as the terminal
    assert "num_hiddens=32, ffn_num_hiddens=64" in words and "epochs=200, batch_size=64, num_steps=10" in words
    assert "`transformer-mb presets` describes them" in cli("train", "--preset", "gpt", "--data", "x", "--out", "y").err


# The two schemes of initial weights.

WIDE = {"num_hiddens": 64, "ffn_num_hiddens": 96}


@pytest.mark.parametrize(
    ("scheme", "name", "limit"),
    [
        ("xavier", "encoder.blks.block0.ffn.dense1.weight", np.sqrt(6 / (64 + 96))),
        ("torch_default", "encoder.blks.block0.ffn.dense1.weight", 64**-0.5),
        ("torch_default", "encoder.blks.block0.ffn.dense2.weight", 96**-0.5),
        ("torch_default", "encoder.blks.block0.ffn.dense2.bias", 96**-0.5),
        ("torch_default", "decoder.blks.block1.attention2.W_q.bias", 64**-0.5),
        ("torch_default", "decoder.dense.bias", 64**-0.5),
    ],
)
def test_linear_weights_fill_their_interval(scheme, name, limit):
    values = initial_weights(annotated(50, 60, **WIDE), 3, scheme)[name]
    assert 0.9 * limit < np.abs(values).max() <= limit
    assert abs(values.mean()) < 0.2 * limit


@pytest.mark.parametrize(("scheme", "deviation"), [("xavier", 1 / 8), ("torch_default", 1.0)])
def test_embeddings(scheme, deviation):
    table = initial_weights(d2l(200, 210, **WIDE), 3, scheme)["decoder.embedding.weight"]
    assert table.std() == pytest.approx(deviation, rel=0.03)


@pytest.mark.parametrize("scheme", ["xavier", "torch_default"])
def test_norms_start_as_the_identity(scheme):
    weights = initial_weights(annotated(11, 13, **WIDE), 0, scheme)
    norms = [name for name in weights if ".ln." in name or ".norm." in name]
    assert len(norms) == 2 * (6 * 2 + 6 * 3 + 2)
    for name in norms:
        np.testing.assert_array_equal(weights[name], float(name.endswith("weight")))


def test_xavier_biases_are_zero_and_a_tied_output_keeps_its_bias():
    weights = initial_weights(annotated(11, 13, **WIDE))
    assert all(not weights[name].any() for name in weights if name.endswith(".bias"))
    tied = initial_weights(vaswani_base(13, 13, **WIDE, output_bias=True), 0, "torch_default")
    assert "decoder.dense.weight" not in tied and np.abs(tied["decoder.dense.bias"]).max() > 0


def test_an_unknown_scheme_is_refused():
    words = "initialization must be one of xavier, torch_default, got 'zeros'"
    with pytest.raises(ConfigError, match=words):
        initial_weights(d2l(11, 13), 0, "zeros")
    with pytest.raises(ConfigError, match=words):
        TrainingRecipe(initialization="zeros")
