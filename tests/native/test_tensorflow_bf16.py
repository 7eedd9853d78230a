"""Training with products in bfloat16: what is rounded, and what stays as it is."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import transformer_mb as tmb
from native import small
from native.small import BATCH
from transformer_mb.backends.tensorflow import dense

pytestmark = pytest.mark.two_bytes
CONFIG = small.CONFIG.replace(num_hiddens=32, ffn_num_hiddens=64, source_vocab_size=13, tie_output=True)


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


@pytest.mark.long
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


def bias_of(product):
    """By how much a product of normal numbers is larger than the exact one: by 0 where it is rounded, -0.28 % where cut off."""
    left, right = (
        tf.cast(tf.random.stateless_normal(shape, (0, seed)), tf.bfloat16) for shape, seed in (((3, 512), 1), ((512, 4), 2))
    )
    exact = np.asarray(tf.cast(left, tf.float64)) @ np.asarray(tf.cast(right, tf.float64))
    found = np.asarray(tf.cast(product(left, right), tf.float64))
    return float(np.mean((np.abs(found) - np.abs(exact)) / np.abs(exact)))


WAYS = {
    "eager": dense.product,
    "compiled": tf.function(dense.product),
    "transposed": lambda left, right: dense.product(left, tf.transpose(right), transpose_b=True),
    "batches": lambda left, right: dense.products(left[None], right[None])[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cut", [False, True], ids=["as this processor does it", "in float32"])
def test_a_product_in_bfloat16_is_rounded(way, cut, monkeypatch):
    if cut:
        monkeypatch.setattr(dense, "cuts_bfloat16", lambda: True)
    assert abs(bias_of(WAYS[way])) < 5e-4


PROGRAM = """
import sys, numpy as np, tensorflow as tf
sys.path.insert(0, sys.argv[1])
from native.test_tensorflow_bf16 import WAYS, bias_of, dense
assert dense.cuts_bfloat16()
for way in WAYS.values():
    assert abs(bias_of(way)) < 5e-4
X = tf.Variable(tf.ones((2, 2), tf.bfloat16))
with tf.GradientTape() as tape:
    Y = dense.product(X, tf.constant([[1.0], [3 / 512]], tf.bfloat16))
assert tape.gradient(Y, X).dtype == tf.bfloat16 and float(Y[0, 0]) == 1 + 4 / 512
"""


@pytest.mark.long
@pytest.mark.parametrize("setting", ["TF_ENABLE_ONEDNN_OPTS=0", "ONEDNN_MAX_CPU_ISA=AVX2"])
def test_so_it_is_where_tensorflow_cuts_off(setting):
    """Without kernels for AVX-512, as on a processor that has none: its own product is cut off, or ends the process."""
    name, value = setting.split("=")
    tests = Path(__file__).parents[1]
    command = [sys.executable, "-c", PROGRAM, str(tests)]
    done = subprocess.run(command, env={**os.environ, name: value}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
