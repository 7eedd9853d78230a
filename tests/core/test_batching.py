"""Batches: padding, shifted targets, order by seed and epoch, buckets."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.data import Batches, Vocabulary, encode_pairs, pair_ids, restore_order, source_batches
from transformer_mb.errors import ConfigError, DataError, TokenError

PAD, BOS, EOS = 1, 2, 3


def corpus(count, longest=30):
    """Pairs whose ids name the pair, so that a row can be recognized: 10, 20, ... of different lengths."""
    return [([10 + n] * max(1, n * 7 % longest), [10 + n] * max(1, n * 5 % longest)) for n in range(count)]


def rows_of(batch):
    """(source, target) of each row without eos and padding; fails when a row is not padded right."""
    for source, source_length, entering, leaving, target_length in zip(*batch, strict=True):
        assert source[source_length - 1] == leaving[target_length - 1] == EOS
        assert (source[source_length:] == PAD).all() and (leaving[target_length:] == PAD).all()
        assert entering[0] == BOS and (entering[1:] == leaving[:-1]).all()
        yield source[: source_length - 1].tolist(), leaving[: target_length - 1].tolist()


def test_the_books_arrays_by_hand():
    source = Vocabulary.from_tokens([["go", "on", "."]], pipeline="d2l")
    target = Vocabulary(["a", "b", "c", "d", "va", "!"], "d2l", {"unk": 3, "pad": 0, "bos": 1, "eos": 2})
    arrays = encode_pairs([("Go on.", "Va!"), ("Go on on on.", "va va va va va"), ("off", "")], source, target, 4)
    assert arrays.source.tolist() == [[4, 5, 6, 3], [4, 5, 5, 5], [0, 3, 1, 1]]
    assert arrays.source_valid_lens.tolist() == [4, 4, 2]
    assert arrays.target.tolist() == [[4, 5, 2, 0], [4, 4, 4, 4], [2, 0, 0, 0]]
    assert arrays.target_valid_lens.tolist() == [3, 4, 1]
    assert all(array.dtype == np.int64 for array in arrays)


def test_pair_ids_have_neither_bos_nor_eos():
    vocabulary = Vocabulary.from_tokens([["a", "b"]])
    assert pair_ids([("a b", "b"), ("c", " a ")], vocabulary, vocabulary) == [([4, 5], [5]), ([0], [4])]


def test_a_fixed_width_by_hand():
    batches = Batches([([7, 8], [9]), ([7], [8, 9, 7])], 2, num_steps=3, shuffle=False, start_id=5)
    (batch,) = batches.epoch(0)
    assert batch.source.tolist() == [[7, 8, EOS], [7, EOS, PAD]]
    assert batch.source_valid_lens.tolist() == [3, 2]
    assert batch.target_in.tolist() == [[5, 9, EOS], [5, 8, 9]]
    assert batch.target_out.tolist() == [[9, EOS, PAD], [8, 9, 7]]
    assert batch.target_valid_lens.tolist() == [2, 3]
    assert all(array.dtype == np.int64 for array in batch)
    assert len(batches) == 1 and batches.num_pairs == 2 and batches.num_tokens == batch.num_tokens == 5


@pytest.mark.parametrize("options", [{"num_steps": 31}, {}, {"bucket_widths": (5, 20)}, {"bucket_widths": (3,), "max_len": 30}])
@pytest.mark.parametrize("epoch", [0, 1])
def test_an_epoch_has_every_pair_once(options, epoch):
    pairs = corpus(103)
    batches = Batches(pairs, 16, seed=4, **options)
    found = list(batches.epoch(epoch))
    assert len(found) == len(batches) == 7
    assert sorted(row for batch in found for row in rows_of(batch)) == sorted(pairs)
    assert sorted(len(batch.source) for batch in found) == [7, 16, 16, 16, 16, 16, 16]
    assert sum(batch.num_tokens for batch in found) == batches.num_tokens == sum(len(target) + 1 for _, target in pairs)
    assert all(batch.source.shape == batch.target_in.shape == batch.target_out.shape for batch in found)


def test_fixed_widths_keep_the_smaller_batch_last():
    shapes = [batch.source.shape for batch in Batches(corpus(50), 16, num_steps=10).epoch(3)]
    assert shapes == [(16, 10), (16, 10), (16, 10), (2, 10)]


def test_too_long_sentences_are_cut_at_a_fixed_width():
    (batch,) = Batches([([5, 6, 7, 8], [9])], 1, num_steps=3).epoch(0)
    assert batch.source.tolist() == [[5, 6, 7]] and batch.source_valid_lens.tolist() == [3]
    assert batch.target_out.tolist() == [[9, EOS, PAD]]


@pytest.mark.parametrize("options", [{"num_steps": 12}, {}])
def test_the_order_follows_from_seed_and_epoch_alone(options):
    def order(seed, epoch, batches=None):
        batches = batches or Batches(corpus(90), 8, seed, **options)
        return [row for batch in batches.epoch(epoch) for row in batch.source.tolist()]

    used = Batches(corpus(90), 8, 5, **options)
    for epoch in (2, 0, 1):
        order(5, epoch, used)
    assert order(5, 1, used) == order(5, 1)
    assert len({str(order(seed, epoch)) for seed, epoch in itertools.product((5, 6), (0, 1, 2))}) == 6


def test_the_order_is_the_same_in_another_process():
    program = "from transformer_mb.data import Batches; print([r.tolist() for r in Batches([([4], [5])] * 9, 4, 7).order(3)])"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert other.strip() == str([rows.tolist() for rows in Batches([([4], [5])] * 9, 4, 7).order(3)])


@pytest.mark.parametrize("options", [{"batch_size": 8, "num_steps": 12}, {"batch_size": 8}, {"batch_tokens": 200}])
def test_an_epoch_can_be_continued_in_its_middle(options):
    batches = Batches(corpus(90), seed=5, **options)
    whole, rest = list(batches.epoch(4)), list(batches.epoch(4, start=5))
    assert len(rest) == len(whole) - 5
    for one, other in zip(whole[5:], rest, strict=True):
        assert all(np.array_equal(left, right) for left, right in zip(one, other, strict=True))


def test_without_shuffling_every_epoch_is_as_given():
    batches = Batches(corpus(20), 8, num_steps=31, shuffle=False)
    for epoch in (0, 1):
        assert [row for batch in batches.epoch(epoch) for row in rows_of(batch)] == corpus(20)


def test_buckets_hold_sentences_of_similar_length_in_few_shapes():
    batches = Batches(corpus(400), 16, seed=1)
    everywhere = set()
    for epoch in range(5):
        found = list(batches.epoch(epoch))
        shapes = {batch.source.shape for batch in found}
        everywhere |= shapes
        assert shapes == set(batches.shapes)
        padding = sum(batch.source.size + batch.target_out.size for batch in found)
        assert padding < 0.8 * 400 * 2 * 32  # what a single width of 32 would take
    assert {width for _, width in everywhere} <= {8, 12, 16, 24, 32}
    assert len(everywhere) <= 6


def test_a_batch_is_as_wide_as_the_smallest_bucket_that_holds_it():
    pairs = [([9] * n, [9]) for n in (1, 6, 7, 8, 10, 11, 12, 40)]
    batches = Batches(pairs, 1, bucket_widths=(12, 8), shuffle=False)
    # eos counts; past the last bucket come its multiples
    assert [batch.source.shape[1] for batch in batches.epoch(0)] == [8, 8, 8, 12, 12, 12, 24, 48]


def test_buckets_are_mixed_anew_in_each_epoch():
    batches = Batches([([n], [n]) for n in range(10, 74)], 32, bucket_widths=(4,))
    first, second = ({frozenset(batch.source[:, 0].tolist()) for batch in batches.epoch(epoch)} for epoch in (0, 1))
    assert first.isdisjoint(second)


def test_the_longest_batches_do_not_always_come_last():
    batches = Batches(corpus(400), 16, seed=1)
    places = {int(np.argmax([batch.source.shape[1] for batch in batches.epoch(epoch)])) for epoch in range(6)}
    assert len(places) > 2


def test_sentences_of_equal_length_come_together_in_any_order():
    pairs = [([9] * (n % 5 + 1), [20 + n] * (n % 3 + 1)) for n in range(60)]
    batches = Batches(pairs, 4, seed=2)
    epochs = [list(batches.epoch(epoch)) for epoch in range(3)]
    for found in epochs:
        assert all(set(batch.target_valid_lens.tolist()) in ({2}, {3}, {4}) for batch in found)
        assert [len(set(batch.source_valid_lens.tolist())) for batch in found].count(1) == 15  # 60 pairs of 15 kinds
    orders = [[tuple(batch.target_valid_lens.tolist()) for batch in found] for found in epochs]
    assert orders[0] != orders[1] != orders[2] and orders[0] != sorted(orders[0])


def test_a_trimmed_batch_is_as_wide_as_its_longest_sentences():
    pairs = [([7, 8], [9]), ([7], [8, 9, 7, 6]), ([5] * 9, [6])]
    first, second = Batches(pairs, 2, trimmed=True, shuffle=False, start_id=5).epoch(0)
    assert first.source.tolist() == [[7, 8, EOS], [7, EOS, PAD]]
    assert first.target_in.tolist() == [[5, 9, EOS, PAD, PAD], [5, 8, 9, 7, 6]]
    assert first.target_out.tolist() == [[9, EOS, PAD, PAD, PAD], [8, 9, 7, 6, EOS]]
    assert second.source.shape == (1, 10) and second.target_in.shape == second.target_out.shape == (1, 2)
    (fixed,) = Batches(pairs[:2], 2, num_steps=7, trimmed=True).epoch(0)
    assert fixed.source.shape == fixed.target_out.shape == (2, 7)


def test_no_width_exceeds_what_the_model_takes():
    batches = Batches([([9] * n, [9] * n) for n in (3, 9, 17)], 1, max_len=18, shuffle=False)
    assert [batch.source.shape[1] for batch in batches.epoch(0)] == [8, 12, 18]


def test_a_too_long_sentence_is_refused_with_its_number():
    pairs = [([9], [9]), ([9], [9] * 6), ([9], [9] * 7)]
    with pytest.raises(TokenError) as caught:
        Batches(pairs, 2, max_len=6)
    assert str(caught.value) == (
        "The target of pair 2 must be at most 6 tokens long (<eos> counted), but it has 7; 2 of 3 are too long. "
        "num_steps (--num-steps 6) cuts them."
    )
    assert len(Batches(pairs, 2, max_len=8)) == 2
    cut = list(Batches(pairs, 3, max_len=6, truncate=True, shuffle=False).epoch(0))
    assert cut[0].target_out.tolist() == [[9, EOS, PAD, PAD, PAD, PAD], [9] * 6, [9] * 6]


@pytest.mark.parametrize(
    ("pairs", "options", "words"),
    [
        ([], {}, "Batches need at least one pair of sentences, got none"),
        ([([4], [4])], {"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ([([4], [4])], {"num_steps": 0}, "num_steps must be at least 1, got 0"),
        ([([4], [4])], {"max_len": -1}, "max_len must be at least 1, got -1"),
        ([([4], [4])], {"num_steps": 9, "max_len": 8}, "num_steps must be at most max_len = 8, got 9"),
        ([([4], [4])], {"bucket_widths": ()}, "bucket_widths must be whole numbers of at least 1"),
        ([([4], [4])], {"bucket_widths": (0, 8)}, "bucket_widths must be whole numbers of at least 1"),
        ([([4], [4])], {"bucket_widths": (7.5,)}, "bucket_widths must be whole numbers of at least 1"),
    ],
)
def test_wrong_arguments(pairs, options, words):
    with pytest.raises(ConfigError) as caught:
        Batches(pairs, **{"batch_size": 2, **options})
    assert words in str(caught.value)


def test_sources_to_translate_come_by_length_and_return_in_order():
    vocabulary = Vocabulary.from_tokens([["a", "b"]])
    sentences = [["a"] * n for n in (5, 1, 9, 0, 1, 20)]
    batches = source_batches([vocabulary.ids(sentence) for sentence in sentences], vocabulary, 2)
    assert [batch.indices.tolist() for batch in batches] == [[3, 1], [4, 0], [2, 5]]
    assert [batch.source.shape for batch in batches] == [(2, 8), (2, 8), (2, 24)]
    assert batches[0].source.tolist() == [[EOS, *[PAD] * 7], [4, EOS, *[PAD] * 6]]
    assert batches[2].source_valid_lens.tolist() == [10, 21]
    lengths = [int(length) - 1 for batch in batches for length in batch.source_valid_lens]
    assert restore_order(batches, lengths) == [5, 1, 9, 0, 1, 20]
    assert source_batches([], vocabulary, 2) == [] and restore_order([], []) == []


def test_sources_at_a_fixed_width_are_cut_and_others_refused():
    vocabulary, sentences = Vocabulary.from_tokens([["a", "b"]]), [[5], [4] * 9]
    (batch,) = source_batches(sentences, vocabulary, 2, num_steps=3)
    assert batch.source.tolist() == [[5, EOS, PAD], [4, 4, 4]]
    with pytest.raises(TokenError, match=r"The source sentence 2 must be at most 8 tokens long .* but it has 10"):
        source_batches(sentences, vocabulary, 2, max_len=8)
    (batch,) = source_batches(sentences, vocabulary, 2, max_len=8, truncate=True)
    assert batch.source.shape == (2, 8) and batch.source_valid_lens.tolist() == [2, 8]


def test_results_that_do_not_fit_the_batches_are_refused():
    batches = source_batches([[4], [5]], Vocabulary.from_tokens([["a", "b"]]), 1)
    with pytest.raises(ValueError, match="shorter"):
        restore_order(batches, ["one"])


@pytest.mark.parametrize(
    ("pair", "error", "words"),
    [
        (([4, 3], [4.5, 3]), TokenError, r"target of pair 2 must hold ids that are whole numbers of at least 0, got 4\.5\."),
        ((np.array([4.0]), [3]), TokenError, r"source of pair 2 must hold ids .*, got .*4\.0"),
        (([4], [3, -1]), TokenError, r"target of pair 2 must hold ids .*, got -1\."),
        (([4], [1 << 70]), TokenError, r"target of pair 2 must hold ids .*, got 11805"),
        (([], [4]), DataError, r"source of pair 2 must have at least one token, got none"),
        (([4], np.array([], int)), DataError, r"target of pair 2 must have at least one token, got none"),
        (("ab"), DataError, r"Pair 2 must be \(source ids, target ids\), got 'ab'"),
        (([4],), DataError, r"Pair 2 must be \(source ids, target ids\), got \(\[4\],\)"),
        ((4, 5), DataError, r"Pair 2 must be \(source ids, target ids\), got \(4, 5\)"),
    ],
)
def test_batches_hold_whole_ids_on_both_sides(pair, error, words):
    with pytest.raises(error, match=words):
        tmb.Batches([([5], [6]), pair], batch_size=1)


def test_batches_take_ids_of_numpy():
    (batch,) = tmb.Batches([(np.array([5, 6], np.int32), (np.int64(7),))], batch_size=1, num_steps=3).epoch(0)
    assert batch.source.tolist() == [[5, 6, 3]] and batch.target_out.tolist() == [[7, 3, 1]]
