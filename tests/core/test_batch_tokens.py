"""Batches of a number of tokens: rows by width, few shapes, an order that a resume and several processes find again."""

import itertools
import json

import numpy as np
import pytest

from transformer_mb.data import BUCKET_WIDTHS, Batches, build_vocabularies, demo_pairs, read_pairs, tokenized
from transformer_mb.data.readers import Pairs
from transformer_mb.distributed.shares import share
from transformer_mb.errors import ConfigError
from transformer_mb.registry import get_backend
from transformer_mb.training.job import prepare
from transformer_mb.training.recipe import TrainingRecipe
from transformer_mb.training.settings import Settings

# Widths 8, 12 and 16 by the longer side, <eos> counted: five pairs, three and one.
PAIRS = [([9] * longer, [9] * shorter) for longer, shorter in ((7, 1), (1, 7), (3, 3), (5, 2), (7, 7))]
PAIRS += [([9] * 8, [9]), ([9], [9] * 11), ([9] * 10, [9] * 4), ([9] * 12, [9] * 15)]


def shapes(batches, epoch=0):
    return sorted(batch.source.shape for batch in batches.epoch(epoch))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        # 24 // 8 = 3 rows, 24 // 12 = 2, 24 // 16 = 1. Of five at width 8 two are left and go on to width 12, where two and
        # two of the then five are full and one is left, which goes on to width 16.
        (24, [(1, 16), (1, 16), (2, 12), (2, 12), (3, 8)]),
        # 40: 5, 3 and 2 rows. Nothing is left but the one at width 16, the only batch that is smaller.
        (40, [(1, 16), (3, 12), (5, 8)]),
        # 16: 2, 1 and 1. One of width 8 is left.
        (16, [(1, 12)] * 4 + [(1, 16)] + [(2, 8)] * 2),
        (10_000, [(9, 16)]),
    ],
)
@pytest.mark.parametrize("epoch", [0, 3])
def test_rows_follow_from_the_width_by_hand(tokens, expected, epoch):
    batches = Batches(PAIRS, batch_tokens=tokens, seed=5)
    assert shapes(batches, epoch) == expected and len(batches) == len(expected)
    assert batches.shapes == sorted(set(expected))
    assert batches.num_positions == sum(rows * width for rows, width in expected)
    assert all(rows * width <= tokens for rows, width in expected)


def test_a_fixed_width_has_as_many_rows_in_every_batch():
    assert shapes(Batches(PAIRS, batch_tokens=25, num_steps=6)) == [(1, 6), (4, 6), (4, 6)]


def test_every_pair_comes_once_in_each_epoch_and_the_order_follows_from_seed_and_epoch():
    pairs = [([10 + n] * (1 + n * 7 % 40), [10 + n] * (1 + n * 5 % 40)) for n in range(150)]

    def order(seed, epoch):
        return [rows.tolist() for rows in Batches(pairs, batch_tokens=200, seed=seed).order(epoch)]

    assert sorted(itertools.chain(*order(1, 2))) == list(range(150))
    assert order(1, 2) == order(1, 2)
    assert len({str(order(seed, epoch)) for seed, epoch in itertools.product((0, 1), (0, 1, 2))}) == 6


@pytest.mark.parametrize("size", [2, 3])
def test_several_processes_share_the_rows_of_each_batch(size):
    for batch in Batches(PAIRS, batch_tokens=40, shuffle=False).epoch(0):
        shares = [share(batch, None, rank, size, "tokens", batch.num_tokens, 1).batch for rank in range(size)]
        assert {one.source.shape for one in shares} == {(-(-len(batch.source) // size), batch.source.shape[1])}
        assert sum(one.num_tokens for one in shares) == batch.num_tokens
        rows = [row for one in shares for row, length in zip(one.target_out, one.target_valid_lens, strict=True) if length]
        assert np.array_equal(rows, batch.target_out)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch_tokens": 15}, "batch_tokens must be at least 16, the longest sentence's padded width, got 15."),
        ({"batch_tokens": 64, "batch_size": 2}, "Either batch_size or batch_tokens must be given, got 2 and 64."),
        ({}, "Either batch_size or batch_tokens must be given, got neither."),
        ({"batch_tokens": 0}, "batch_tokens must be at least 1, got 0."),
    ],
)
def test_wrong_arguments(options, words):
    with pytest.raises(ConfigError) as caught:
        Batches(PAIRS, **options)
    assert str(caught.value) == words


def test_a_recipe_says_one_of_both():
    for both in ({"batch_size": 32, "batch_tokens": 4096}, {"batch_tokens": 4096}):
        with pytest.raises(
            ConfigError, match=r"Either batch_size or batch_tokens must say how large a batch is, got \d+ and 4096"
        ):
            TrainingRecipe(**both)
    with pytest.raises(ConfigError, match="got neither"):
        TrainingRecipe(batch_size=None)
    recipe = TrainingRecipe(batch_size=None, batch_tokens=4096)
    assert TrainingRecipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


@pytest.mark.parametrize(
    ("flags", "file", "expected"),
    [
        ({"batch_tokens": 4096}, {}, (None, 4096)),
        ({"batch_tokens": 4096}, {"batch_size": 32}, (None, 4096)),
        ({"batch_size": 32}, {"batch_tokens": 4096}, (32, None)),
        ({}, {"batch_tokens": 4096}, (None, 4096)),
        ({}, {"batch_size": 16, "batch_tokens": 0}, (16, None)),
        ({}, {}, (64, None)),
    ],
)
@pytest.mark.parametrize("preset", [None, "annotated"])
def test_a_flag_takes_the_place_of_either_in_a_file_or_a_preset(flags, file, expected, preset):
    recipe = Settings(training=flags).over(Settings(training=file, run={"preset": preset})).recipe()
    if preset and expected == (64, None):
        expected = (320, None)  # the preset's
    assert (recipe.batch_size, recipe.batch_tokens) == expected


def test_both_in_one_place_are_refused():
    with pytest.raises(ConfigError, match="got 32 and 4096"):
        Settings(training={"batch_size": 32, "batch_tokens": 4096}).recipe()


def test_of_real_text_about_a_seventh_is_padding_in_few_shapes(shared_data):
    folder = shared_data / "multi30k"
    pairs = read_pairs(folder / "train.en.gz", folder / "train.de.gz", num_examples=10_000)
    ids = tokenized(pairs, build_vocabularies(pairs))
    batches = Batches(ids, batch_tokens=4096)
    longer = np.maximum(ids.sources.lengths, ids.targets.lengths) + 1
    assert 0.1 < 1 - longer.sum() / batches.num_positions < 0.2
    assert {width for _, width in batches.shapes} <= set(BUCKET_WIDTHS) and len(batches.shapes) <= 8
    assert sum(rows == 4096 // width for rows, width in batches.shapes) >= len(batches.shapes) - 1


@pytest.mark.parametrize(("limits", "most"), [({"batch_size": 64}, 0.03), ({"batch_tokens": 4096}, 0.06)])
def test_of_real_text_little_is_padding_where_batches_are_trimmed(shared_data, limits, most):
    """A fifth where they are not."""
    folder = shared_data / "multi30k"
    pairs = read_pairs(folder / "train.en.gz", folder / "train.de.gz")
    batches = Batches(tokenized(pairs, build_vocabularies(pairs)), **limits, trimmed=True)
    found = list(batches.epoch(0))
    positions = sum(batch.source.size + batch.target_out.size for batch in found)
    tokens = sum(int(batch.source_valid_lens.sum() + batch.target_valid_lens.sum()) for batch in found)
    assert 1 - tokens / positions < most
    assert 1 - tokens / (2 * batches.num_positions) > 0.15


@pytest.mark.parametrize("few_shapes", [False, True])
@pytest.mark.parametrize("normalization", ["tokens", "steps"])
def test_a_training_trims_its_batches_where_that_changes_nothing_else(tmp_path, monkeypatch, normalization, few_shapes):
    """A loss per step counts padding, and a step that is compiled for each shape wants few of them."""
    monkeypatch.setattr(get_backend("numpy").trainer_class, "few_shapes", few_shapes)
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in demo_pairs()[0][:20]))
    training = {"batch_size": 4, "pipeline": "words", "normalization": normalization}
    job = prepare(Settings(training=training, data={"source": str(tmp_path / "pairs.tsv")}, run={"backend": "numpy"}))
    assert job.batches.trimmed == (normalization == "tokens" and not few_shapes)


def test_tokenized_pairs_give_the_batches_of_their_lists():
    pairs = Pairs(demo_pairs()[0][:200])
    vocabularies = build_vocabularies(pairs)
    ids = tokenized(pairs, vocabularies)
    lists = [(source.tolist(), target.tolist()) for source, target in ids]
    assert lists == [
        tuple(vocabulary.encode(side) for vocabulary, side in zip(vocabularies, pair, strict=True)) for pair in pairs
    ]
    for one, other in zip(*(Batches(each, batch_tokens=300, seed=3).epoch(1) for each in (ids, lists)), strict=True):
        assert all(np.array_equal(left, right) and left.dtype == right.dtype for left, right in zip(one, other, strict=True))
