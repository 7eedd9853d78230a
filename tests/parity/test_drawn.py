"""What a seed draws: every pair of settings within a few seeds, every field of a configuration, kinds that are those kinds."""

import dataclasses
from itertools import combinations, product

import numpy as np
import pytest

from parity import make_covering_arrays
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import ConfigError, ParityError
from transformer_mb.parity.rows import caches, drawn_layers, drawn_models, trained_steps
from transformer_mb.parity.rows.drawn_values import LENGTHS, STORED, VALUES, CoveringArray, lengths
from transformer_mb.parity.rows.layers import drawn_experiments
from transformer_mb.random_streams import stream

FAMILIES = {family.array.name: (family.array, family.share) for family in drawn_layers.FAMILIES}
ARRAYS = {
    **FAMILIES,
    "cache": (caches.CACHES, caches.SHARE),
    "model": (drawn_models.MODELS, drawn_models.SHARE),
    "search": (drawn_models.SEARCHES, 1),
    "optimizer": (trained_steps.UPDATES, trained_steps.UPDATES_SHARE),
    "recipe": (trained_steps.RECIPES, 1),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_every_pair_of_values_occurs_within_the_seeds_that_it_takes(name):
    """And every three of few settings."""
    array, share = ARRAYS[name]
    rows = [row for seed in range(100, 100 + array.seeds_for_all(share)) for row in array.share(seed, share)]
    for names in combinations(array.settings, array.strength):
        met = [tuple(row[name] for name in names) for row in rows]
        for values in product(*(array.settings[name] for name in names)):
            pairs = map(dict, combinations(zip(names, values, strict=True), 2))
            assert (values in met) == all(map(array.possible, pairs)), (names, values)


def test_how_many_seeds_it_takes():
    """Few where pairs meet; a search and a recipe are one a seed."""
    needed = {name: array.seeds_for_all(share) for name, (array, share) in ARRAYS.items() if share > 1}
    most = {2: 13, 3: 60}
    assert {name: seeds for name, seeds in needed.items() if seeds > most[ARRAYS[name][0].strength]} == {}
    assert needed["model"] == 6


def test_the_whole_configuration_is_drawn():
    """As settings of models and searches, or as the numbers of tokens and positions; one id is what it is everywhere."""
    sizes = {"source_vocab_size", "target_vocab_size", "max_len"}
    of_searches = {"decoder_start_id", "suppress_ids", "eos_id"}
    fields = {field.name for field in dataclasses.fields(TransformerConfig)}
    assert fields == {*drawn_models.CONFIG, "bos_id"} | of_searches | sizes
    assert of_searches <= set(drawn_models.SEARCH)


def test_what_cannot_be_combined_is_what_the_configuration_refuses():
    """No list of ours: a pair is left out where TransformerConfig raises, and nowhere else."""
    assert not drawn_models.MODELS.possible({"architecture": "decoder", "pooler": True})
    assert not drawn_models.MODELS.possible({"architecture": "encoder", "tie_output": True})
    for row in drawn_models.MODELS.rows:
        drawn_models._config(row)
    with pytest.raises(ConfigError):
        drawn_models._config({"architecture": "encoder", "share_embeddings": True})


def test_the_arrays_are_those_of_todays_settings():
    """Made again here by covertable: what can be combined may have changed, and the order of values."""
    assert STORED.read_text(encoding="utf-8") == make_covering_arrays.text()
    assert {array.name for array in make_covering_arrays.ARRAYS} == set(ARRAYS)


def test_an_array_of_other_settings_is_refused():
    other = CoveringArray("recipe", {**trained_steps.RECIPES.settings, "label_smoothing": (0.0, 0.1, 0.2)})
    for array in (other, CoveringArray("nonesuch", {"one": (0, 1)})):
        with pytest.raises(ParityError, match=f"The covering array '{array.name}' must be made of today's settings, got"):
            array.share(seed=0, size=1)


def test_the_words_of_a_row():
    array = CoveringArray("ten", {f"setting {i}": (0, 1, 2) for i in range(10)})
    assert array.words({f"setting {i}": 0 for i in range(10)}) == "all as usual"
    assert array.words({f"setting {i}": int(i == 3) for i in range(10)}) == "setting 3 1"


def test_seeds_draw_other_cases_and_the_same_seed_the_same():
    names = [[one.case for one in drawn_experiments("float64", seed)] for seed in (4, 4, 5)]
    assert names[0] == names[1] and not set(names[0]) & set(names[2]) and len(set(names[0])) == len(names[0]) > 20


def test_kinds_of_values():
    X = {kind: make(stream(0, kind), (3, 4, 8)) for kind, make in VALUES.items()}
    assert (X["equal steps"] == X["equal steps"][:, :1]).all() and (X["equal features"] == X["equal features"][..., :1]).all()
    assert (np.sort(X["ties"], axis=-1)[..., -2:].std(axis=-1) == 0.0).any() and not X["zeros"].any()
    sizes = {kind: float(np.abs(values).mean()) for kind, values in X.items()}
    assert sizes["1e-6"] < 1e-5 and sizes["1e4"] > 1e3


def test_kinds_of_lengths():
    lens = {kind: lengths(kind, stream(0, kind), 3, 5) for kind in LENGTHS}
    assert (lens["full"] == 5).all() and (lens["ones"] == 1).all() and lens["one is 0"][-1] == 0
    assert lens["ragged"][0] == 5 and lens["ragged"].min() >= 1
