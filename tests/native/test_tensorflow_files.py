"""Our layers in Keras' own files."""

import keras
import numpy as np
import pytest

from native.small import BATCH, CONFIG
from transformer_mb.backends.tensorflow import (
    DecoderBlock,
    EncoderBlock,
    EncoderDecoder,
    PositionWiseFFN,
    TensorFlowBackend,
    TransformerDecoder,
    TransformerEncoder,
)
from transformer_mb.config import TransformerConfig


@pytest.fixture(autouse=True)
def seed():
    keras.utils.set_random_seed(3)


TIED = CONFIG.replace(source_vocab_size=13, share_embeddings=True, tie_output=True, padding_vector_zero=True)


@pytest.mark.long(but=1)
@pytest.mark.parametrize("config", [CONFIG, TIED], ids=["plain", "shared and tied"])
def test_kerass_own_files(config, tmp_path):
    backend = TensorFlowBackend(dtype="float64")
    model, other = backend.build(config, seed=1), backend.build(config, seed=2)
    assert len(model.trainable_weights) == len(backend.parameter_shapes(model))
    expected = backend.logits(model, BATCH.source, BATCH.target_in, BATCH.source_valid_lens)
    model.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(backend.logits(other, BATCH.source, BATCH.target_in, BATCH.source_valid_lens), expected)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.config == config
    np.testing.assert_array_equal(backend.logits(loaded, BATCH.source, BATCH.target_in, BATCH.source_valid_lens), expected)


@pytest.mark.two_bytes
def test_a_mixed_policy_through_a_file(tmp_path):
    model = EncoderDecoder.from_config(CONFIG, dtype="mixed_bfloat16")
    model.save(tmp_path / "model.keras")
    loaded, inputs = keras.models.load_model(tmp_path / "model.keras"), (BATCH.source, BATCH.target_in, BATCH.source_valid_lens)
    dense = loaded.decoder.blks[0].ffn.dense1
    assert (dense.kernel.dtype, dense.compute_dtype) == ("float32", "bfloat16")
    assert {weight.dtype for weight in loaded.trainable_weights} == {"float32"}
    np.testing.assert_array_equal(loaded(*inputs)[0], model(*inputs)[0])


def test_a_functional_model_through_a_file(tmp_path):
    inputs = keras.Input((4,), dtype="int32")
    Y = TransformerEncoder(9, 8, 8, 8, 8, [8], 8, 16, 2, 1, 0.0, max_len=20)(inputs)
    whole = EncoderDecoder.from_config(TransformerConfig(architecture="encoder", source_vocab_size=9), name="whole")(inputs)
    Y = PositionWiseFFN(8, 4, 2)(EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0)(Y))
    model = keras.Model(inputs, [Y, whole])
    model.save(tmp_path / "model.keras")
    loaded, tokens = keras.models.load_model(tmp_path / "model.keras"), np.array([[1, 2, 3, 4]])
    for again, before in zip(loaded(tokens), model(tokens), strict=True):
        np.testing.assert_array_equal(again, before)


@keras.saving.register_keras_serializable("tests")
class Holder(keras.Model):
    """A model of one's own around one of our layers: a functional one takes no state, whose parts may be None."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.built = True

    def get_config(self):
        return {"layer": keras.saving.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config):
        return cls(keras.saving.deserialize_keras_object(config["layer"]))


SIZES = (8, 8, 8, 8, [8], 8, 16, 2)  # of key, query, value, hiddens, norm shape, FFN input and hiddens, heads
X, TOKENS, LENS = np.linspace(-1.0, 1.0, 64, dtype=np.float32).reshape(2, 4, 8), np.array([[1, 2, 3, 4]] * 2), np.array([4, 2])
HELD = [
    (lambda: EncoderBlock(*SIZES, 0.1, norm_position="pre"), (X, LENS)),
    (lambda: DecoderBlock(*SIZES, 0.1, 0, True, activation="gelu", norm_kind="std_norm"), (X, [X, LENS, [None]])),
    (lambda: TransformerEncoder(9, *SIZES, 2, 0.1, max_len=20, token_types=2), (TOKENS, LENS)),
    (lambda: TransformerDecoder(9, *SIZES, 2, 0.1, final_norm=True), (TOKENS, [X, LENS, [None] * 2])),
    (lambda: EncoderDecoder.from_config(CONFIG), (TOKENS, TOKENS, LENS)),
]


@pytest.mark.parametrize(("make", "inputs"), HELD, ids=["EncoderBlock", "DecoderBlock", "encoder", "decoder", "EncoderDecoder"])
def test_a_model_that_holds_a_layer_through_a_file(make, inputs, tmp_path):
    model = Holder(make())
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.layer) is type(model.layer) and loaded.layer.name == model.layer.name
    again, before = loaded.layer(*inputs, training=False), model.layer(*inputs, training=False)
    for one, other in zip(keras.tree.flatten(again), keras.tree.flatten(before), strict=True):
        np.testing.assert_array_equal(one, other)
