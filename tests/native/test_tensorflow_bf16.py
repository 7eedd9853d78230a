"""Training with products in bfloat16: what is rounded, and what stays as it is."""

import numpy as np
import pytest
import tensorflow as tf

import transformer_mb as tmb
from transformer_mb.backends.tensorflow import dense
from transformer_mb.config import TransformerConfig
from transformer_mb.trainer import Batch

pytestmark = pytest.mark.two_bytes
CONFIG = TransformerConfig(source_vocab_size=12, target_vocab_size=13, num_hiddens=32, ffn_num_hiddens=64, tie_output=True)
BATCH = Batch(np.array([[4, 5, 6]]), np.array([3]), np.array([[2, 7]]), np.array([[7, 3]]), np.array([2]))


def rounded(array):
    return tf.cast(tf.cast(array, tf.bfloat16), tf.float32)


def test_factors_and_product_are_rounded_and_the_sum_is_not():
    left, right = tf.random.stateless_normal((3, 512), (0, 1)), tf.random.stateless_normal((512, 4), (0, 2))
    with dense.bfloat16_products(True):
        found = dense.product(left, right)
    exact = tf.matmul(tf.cast(rounded(left), tf.float64), tf.cast(rounded(right), tf.float64))
    assert found.dtype == tf.float32 and np.array_equal(found, rounded(found))
    # Half a unit in the last place of bfloat16; sums that were kept in it would be off by ten times that.
    np.testing.assert_allclose(found, exact, rtol=1.01 * 2**-8, atol=1e-4)
    assert np.array_equal(dense.product(left, right), tf.matmul(left, right))


@pytest.mark.further
def test_weights_moments_and_the_model_stay_float32():
    backend = tmb.get_backend("tensorflow")
    losses = {}
    for precision in ("full", "bf16"):
        model = backend.build(CONFIG)
        trainer = backend.trainer(model, precision=precision, compile=True)
        losses[precision] = float(trainer.step(BATCH))
    assert losses["bf16"] != losses["full"] and abs(losses["bf16"] / losses["full"] - 1.0) < 0.02
    assert {p.value.dtype for p in trainer.parameters.values()} == {tf.float32} == {m.dtype for m in trainer.moments("v")}
    same = backend.from_weights(CONFIG, backend.get_weights(model))
    arguments = (BATCH.source, BATCH.target_in, BATCH.source_valid_lens)
    assert np.array_equal(backend.logits(model, *arguments), backend.logits(same, *arguments))
