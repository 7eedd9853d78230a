"""Our layers in a plain NumPy program, trained by hand."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.backends.numpy import EncoderBlock, MultiHeadAttention, PositionWiseFFN
from transformer_mb.backends.numpy.backend import NumPyBackend
from transformer_mb.backends.numpy.decoding import _top
from transformer_mb.backends.numpy.dropout import Dropout
from transformer_mb.backends.numpy.framework import Linear, flatten
from transformer_mb.backends.numpy.projection import Projection
from transformer_mb.backends.numpy.rounding import product, rounded_products
from transformer_mb.backends.numpy.running import in_mode
from transformer_mb.backends.numpy.shortcuts.prepared_layers import is_plain

SIZES = {
    "source_vocab_size": 11, "target_vocab_size": 13, "num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2,
    "decoder_num_heads": 2, "encoder_num_layers": 2, "decoder_num_layers": 2, "max_len": 16,
}  # fmt: skip


def test_attention_learns_by_gradient_descent():
    rng = np.random.default_rng(0)
    layer = MultiHeadAttention(8, 8, 8, 8, 2, 0.0)
    X, target = (rng.standard_normal((4, 5, 8)).astype(np.float32) for _ in range(2))
    losses = []
    for _ in range(200):
        difference = layer(X, X, X) - target
        losses.append(float(np.mean(difference**2)))
        layer.zero_gradients()
        layer.backward(2.0 * difference / difference.size)
        for _, parameter in layer.named_parameters():
            parameter.value -= 2.0 * parameter.gradient
    assert losses[-1] < 0.8 * losses[0]  # 0.03 to 0.13 of it with twenty seeds


def test_a_linear_layer_starts_uniform_within_glorots_limit():
    weight = PositionWiseFFN(200, 100, 8).dense1.weight.value
    limit = np.sqrt(6.0 / 300.0)
    assert weight.shape == (100, 200) and weight.dtype == np.float32
    # Of 20,000 uniform numbers the mean is off by 0.004 limits, and the deviation by 0.5 %.
    assert 0.99 * limit < np.abs(weight).max() <= np.float32(limit)
    assert abs(weight.mean()) < 0.03 * limit and abs(weight.std() / (limit / np.sqrt(3.0)) - 1.0) < 0.03


def test_what_a_new_layer_learns_is_in_float32():
    block = EncoderBlock(8, 8, 8, 8, [8], 8, 12, 2, 0.0, True)
    assert {parameter.value.dtype for _, parameter in block.named_parameters()} == {np.dtype(np.float32)}


def test_some_of_the_parameters_that_an_optimizer_holds_can_be_anothers():
    """A trainer of all makes them views of one array; a trainer of some is to move these alone."""
    layer = PositionWiseFFN(8, 12, 8)
    every = [parameter for _, parameter in layer.named_parameters()]
    assert flatten(every).value.size == sum(parameter.value.size for parameter in every)
    assert flatten(every[:1]).value.size == every[0].value.size


@pytest.mark.parametrize("k", [1, 5, 6])
@pytest.mark.parametrize("size", [5, 15, 16, 17, 96, 97, 500, 8001])
def test_the_largest_numbers_of_rows(size, k):
    """Random ones, and of four numbers that many share; in groups, and in what is left of them."""
    random = np.random.default_rng(0)
    for rows in (random.standard_normal((20, size)), random.choice([-np.inf, -1.0, 0.0, 2.0], (20, size))):
        columns = _top(rows, min(k, size))
        assert all(len({*row}) == len(row) for row in columns.tolist())
        expected = -np.sort(-rows, axis=-1)[:, : min(k, size)]
        np.testing.assert_array_equal(np.take_along_axis(rows, columns, axis=-1), expected)


def test_bf16_rounds_factors_and_results_of_products():
    """1 + 2^-8 is no bfloat16: a factor becomes 1, and so does a sum of 1 and 2^-8, which float32 holds."""
    between = np.float32(1.0 + 2.0**-8)
    A, B = np.array([[between, 1.0]], np.float32), np.array([[1.0], [2.0**-8]], np.float32)
    with rounded_products("bfloat16"):
        assert product(A, B) == 1.0
        assert product(A, np.array([[2.0], [2.0]], np.float32)) == 4.0
    assert product(A, B) == between + 2.0**-8


def test_the_sum_of_a_product_and_a_bias_is_rounded_with_it():
    """1 and 2^-8 again."""
    layer, X = Linear(1, 1), np.ones((1, 1, 1), np.float32)
    layer.weight.value[:], layer.bias.value[:] = 1.0, 2.0**-8
    for add in (layer, lambda X: Projection(X, [layer], 1).heads[0]):
        assert add(X) == 1.0 + 2.0**-8
        with rounded_products("tf32"):
            assert add(X) == 1.0 + 2.0**-8
        with rounded_products("bfloat16"):
            assert add(X) == 1.0


def test_what_rounds_goes_through_its_layers():
    config = tmb.TransformerConfig(**SIZES)
    assert is_plain(tmb.get_backend("numpy").build(config).decoder)
    for format_name in ("bfloat16", "float16"):
        assert not is_plain(NumPyBackend(rounded_to=format_name).build(config).decoder)
    assert not is_plain(tmb.get_backend("numpy").quantized(tmb.get_backend("numpy").build(config)).decoder)
    assert not is_plain(NumPyBackend().DecoderBlock(8, 8, 8, 8, [4, 8], 8, 8, 2, 0.0, 0))


def test_the_exponentials_of_many_large_scores_have_a_sum():
    """20,000 times e^79 is beyond float32, so that the largest is taken off before."""
    weights = NumPyBackend(dtype="float32").masked_softmax(np.full((1, 1, 20_000), 79.0, np.float32))
    np.testing.assert_allclose(weights, 1.0 / 20_000, rtol=1e-5)


def test_a_model_in_training_is_decoded_in_evaluation():
    backend, source, lengths = tmb.get_backend("numpy"), np.random.default_rng(0).integers(4, 11, (3, 6)), np.array([4, 0, 5])
    model = backend.build(tmb.TransformerConfig(**SIZES, dropout=0.9))
    expected = backend.greedy(model.eval(), source, lengths, 6)
    assert backend.greedy(model.train(), source, lengths, 6) == expected and model.training


def test_the_mode_of_a_call_is_no_other_threads():
    layer = Dropout(0.5)
    with in_mode(False), ThreadPoolExecutor(1) as other:
        assert not layer.training
        assert other.submit(lambda: layer.training).result()
    assert layer.training and not layer.eval().training
    with in_mode(True):
        assert layer.training
