"""Our layers inside Keras' own programs: its functional and subclassed models, fit, masks, policies and files."""

import gc
import subprocess
import sys
import weakref
from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf

from native.small import BATCH, CONFIG, LAST_KEPT, tokens_of_late_sums
from transformer_mb.backends.tensorflow import (
    AddNorm,
    DecoderBlock,
    DotProductAttention,
    EncoderBlock,
    EncoderDecoder,
    LayerNorm,
    MaskedSoftmaxCELoss,
    MultiHeadAttention,
    PositionalEncoding,
    PositionWiseFFN,
    TensorFlowBackend,
    TransformerDecoder,
    TransformerEncoder,
    decoding,
)
from transformer_mb.backends.tensorflow.decoding import drawn
from transformer_mb.backends.tensorflow.dense import Dense, TiedDense
from transformer_mb.backends.tensorflow.dropout import Dropout
from transformer_mb.backends.tensorflow.model import Pooler
from transformer_mb.backends.tensorflow.rotary import RotaryEncoding
from transformer_mb.batch import Batch
from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.errors import ShapeError


@pytest.fixture(autouse=True)
def seed():
    keras.utils.set_random_seed(3)


def first_tokens(rng, num_tokens, batch, steps):
    X = rng.integers(0, num_tokens, (batch, steps))
    return X, X[:, 0]


def test_an_encoder_block_in_a_functional_model():
    """Which token does a sequence start with? The valid length leaves only that one to attend to."""
    tokens, valid_lens = keras.Input((None,), dtype="int32"), keras.Input((), dtype="int32")
    Y = keras.layers.Embedding(5, 16)(tokens)
    Y = EncoderBlock(16, 16, 16, 16, [16], 16, 32, 4, 0.1)(Y, valid_lens)
    Y = EncoderBlock(16, 16, 16, 16, [16], 16, 32, 4, 0.1, norm_position="pre")(Y)
    assert Y.shape == (None, None, 16)
    model = keras.Model([tokens, valid_lens], keras.layers.Dense(5)(keras.layers.GlobalAveragePooling1D()(Y)))
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    X, labels = first_tokens(np.random.default_rng(0), 5, 64, 6)
    inputs = [X, np.full(64, 1)]
    losses = model.fit(inputs, labels, epochs=15, batch_size=16, verbose=0).history["loss"]
    assert losses[-1] < 0.2 * losses[0]  # less than 0.001 of it with five seeds


class Reader(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = keras.layers.Embedding(5, 16)
        self.attention = MultiHeadAttention(16, 16, 16, 16, 4, 0.1)
        self.head = keras.layers.Dense(5)

    def call(self, X, training=None):
        X = self.embedding(X)
        lens = tf.ones(tf.shape(X)[:1], tf.int32)
        return self.head(tf.reduce_mean(self.attention(X, X, X, lens, training=training), axis=1))


def test_attention_in_a_subclassed_model_and_a_loop_of_ones_own():
    model, optimizer = Reader(), keras.optimizers.Adam(0.01)
    X, labels = first_tokens(np.random.default_rng(0), 5, 32, 6)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            logits = model(X, training=True)
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    losses = [float(step()) for _ in range(60)]
    assert losses[-1] < 0.2 * losses[0]  # less than 0.001 of it with five seeds


@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_rms_norm_is_that_of_keras(eps):
    theirs = keras.layers.RMSNormalization(epsilon=eps, dtype="float64")
    ours = LayerNorm(8, kind="rms_norm", eps=eps, dtype="float64")
    X = keras.random.normal((2, 3, 8), dtype="float64", seed=1)
    theirs.build(X.shape)
    scale = keras.random.uniform((8,), dtype="float64", seed=2)
    theirs.set_weights([scale])
    ours.set_weights([scale])
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-14, atol=1e-14)


ROTARY = partial(RotaryEncoding, base=100.0, layout="halves")
BLOCK = (8, 8, 8, 8, [8], 8, 12, 2, 0.0)
ENCODER, DECODER = partial(TransformerEncoder, 11, *BLOCK[:-2], 2, 1), partial(TransformerDecoder, 11, *BLOCK[:-2], 2, 1)
TIED = partial(TiedDense, keras.layers.Embedding(11, 8), True, None)
WHOLE = partial(EncoderDecoder, ENCODER(0.0), DECODER(0.0))
MADE = [
    *((MaskedSoftmaxCELoss, ()), (Dropout, (0.1,)), (LayerNorm, (8,)), (AddNorm, (8, 0.1)), (PositionWiseFFN, (8, 8, 8))),
    *((ROTARY, (8, 16)), (PositionalEncoding, (8, 0.1)), (Dense, (8,)), (TIED, ())),
    *((DotProductAttention, (0.1,)), (MultiHeadAttention, (8, 8, 8, 8, 2, 0.1)), (EncoderBlock, BLOCK), (Pooler, (8,))),
    *((DecoderBlock, (*BLOCK, 0)), (ENCODER, (0.1,)), (DECODER, (0.1,)), (WHOLE, ())),
]


@pytest.mark.parametrize(("layer", "arguments"), MADE, ids=lambda one: getattr(getattr(one, "func", one), "__name__", ""))
def test_a_layer_takes_what_every_keras_layer_takes(layer, arguments):
    one = layer(*arguments, name="own", dtype="float64", trainable=False)
    assert (one.name, one.variable_dtype, one.trainable) == ("own", "float64", False)
    assert layer(*arguments).trainable


@pytest.mark.parametrize("layer", [LayerNorm(8), ROTARY(8, 16), PositionalEncoding(8, 0.0)], ids=lambda one: type(one).__name__)
def test_any_layer_is_told_whether_it_trains(layer):
    X = tf.ones((2, 3, 8))
    np.testing.assert_array_equal(layer(X, training=True), layer(X))


def test_a_mask_that_would_be_repeated_is_refused():
    dropout = Dropout(0.5)
    dropout.keep = tf.ones((1, 3), tf.bool)
    with pytest.raises(ShapeError, match=r"The dropout mask and its input must have the same shape, got \[1, 3\] and \[2, 3\]"):
        dropout(tf.ones((2, 3)), training=True)


def test_a_graph_keeps_no_attention_weights():
    attention, X = MultiHeadAttention(8, 8, 8, 8, 2, 0.0), tf.ones((2, 3, 8))
    attention(X, X, X, need_weights=True)
    assert attention.attention_weights.shape == (2, 2, 3, 3)
    tf.function(lambda X: attention(X, X, X, need_weights=True))(X)
    assert attention.attention_weights is None


@pytest.mark.parametrize("order", ["post", "pre"])
def test_the_padding_of_a_keras_embedding_is_respected(order):
    """Five rows of five steps: a padding mask [B, T] could be taken for a mask [T, S] here."""
    embedding = keras.layers.Embedding(10, 8, mask_zero=True)
    blocks = [EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0, norm_position=order) for _ in range(2)]
    tokens = np.array([[5, 6, 7, 0, 0], [3, 4, 5, 6, 0], [1, 2, 3, 4, 5], [9, 8, 0, 0, 0], [7, 7, 0, 0, 0]])
    plain, valid_lens = embedding(tokens) * 1.0, tf.constant([3, 4, 5, 2, 2])
    expected = blocks[1](blocks[0](plain, valid_lens), valid_lens)
    assert np.abs(blocks[1](blocks[0](plain)) - expected).max() > 1e-3
    np.testing.assert_allclose(blocks[1](blocks[0](embedding(tokens))), expected, atol=1e-6)
    inputs = keras.Input((5,), dtype="int32")
    model = keras.Model(inputs, blocks[1](blocks[0](embedding(inputs))))
    np.testing.assert_allclose(model.predict(tokens, verbose=0), expected, atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_a_mask_of_ours_is_not_attached_to_the_output():
    X, mask = tf.ones((2, 3, 8)), tf.constant([True, False, True])
    Y = MultiHeadAttention(8, 8, 8, 8, 2, 0.0)(X, X, X, mask=mask)
    Y = EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0)(Y, mask=mask)
    assert getattr(Y, "_keras_mask", None) is None


@pytest.mark.two_bytes
def test_dtypes_are_those_of_keras():
    X = np.ones((2, 3, 8))
    assert EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0, dtype="float64")(X).dtype == tf.float64
    assert EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.0)(X).dtype == tf.float32
    mixed = EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.1, dtype="mixed_bfloat16")
    with tf.GradientTape() as tape:
        Y = mixed(X, training=True)
    assert Y.dtype == tf.bfloat16 and {weight.dtype for weight in mixed.weights if weight.trainable} == {"float32"}
    assert all(gradient.dtype == tf.float32 for gradient in tape.gradient(Y, mixed.trainable_weights))


@pytest.mark.long(but=1)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers_of_both_sizes(dtype):
    model = TensorFlowBackend().build(CONFIG)
    source, target = tf.fill((2, 3), tf.cast(4, dtype)), tf.fill((2, 4), tf.cast(5, dtype))
    logits, _ = model(source, target, tf.constant([3, 1], dtype))
    for normalization in ("steps", "tokens"):
        loss = MaskedSoftmaxCELoss(normalization=normalization)(logits, target, tf.constant([4, 2], dtype))
        assert loss.shape == (2,) and loss.dtype == tf.float32
    inputs = DecodingInputs(source[:, 0], source, tf.constant([3, 1], dtype))
    assert decoding.greedy(model, inputs, 3).dtype == tf.int64


TIED = CONFIG.replace(source_vocab_size=13, share_embeddings=True, tie_output=True, padding_vector_zero=True)


def test_kerass_own_training_leaves_the_pad_row_zero():
    model = TensorFlowBackend().build(TIED)
    tokens = tf.constant([[4, 5, TIED.pad_id]])
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(model(tokens, tokens, tf.constant([3]), training=True)[0] ** 2)
    gradients = tape.gradient(total, model.trainable_variables)
    keras.optimizers.SGD(0.1).apply(gradients, model.trainable_variables)
    np.testing.assert_array_equal(model.encoder.embedding.embeddings[TIED.pad_id], np.zeros(8))


def test_dropout_is_kerass_outside_the_trainer():
    def dropped():
        keras.utils.set_random_seed(5)
        block = EncoderBlock(8, 8, 8, 8, [8], 8, 16, 2, 0.5)
        return [block(tf.ones((2, 3, 8)), training=True).numpy() for _ in range(2)]

    (first, second), again = dropped(), dropped()
    assert (first != second).any()
    np.testing.assert_array_equal([first, second], again)


def test_a_trainer_says_whether_it_compiles():
    trainer = TensorFlowBackend().trainer(TensorFlowBackend().build(CONFIG))
    assert trainer.always_compiles == hasattr(trainer._compiled, "get_concrete_function")


@pytest.mark.long
def test_parts_of_a_step_are_two_programs():
    """One for its last part and one for all others; a step of one batch adds nothing up."""
    model = TensorFlowBackend().build(CONFIG)
    trainer = TensorFlowBackend().trainer(model)
    for parts in (3, 2, 4):
        trainer.accumulated_step([BATCH] * parts)
    assert trainer._compiled.experimental_get_tracing_count() == 2


@pytest.mark.long
def test_what_is_compiled_anew():
    """Neither a step nor a learning rate; a second shape once, and then none."""
    model = TensorFlowBackend().build(CONFIG)
    trainer = TensorFlowBackend().trainer(model)
    for steps in (2, 2, 3, 4, 5):
        trainer.learning_rate *= 0.9
        trainer.step(Batch(BATCH.source, BATCH.source_valid_lens, *np.ones((2, 1, steps), int), np.array([steps])))
    assert trainer._compiled.experimental_get_tracing_count() == 2
    for batch, steps in ((1, 3), (2, 4), (3, 5), (1, 6)):
        TensorFlowBackend().greedy(model, np.full((batch, steps), 4), None, steps)
    programs = {
        key[-1]: function.experimental_get_tracing_count() for key, function in decoding._programs[model].functions.items()
    }
    assert programs == {"rows 1": 1, "rows None": 1}


def test_a_beam_search_is_compiled_once():
    model = TensorFlowBackend().build(CONFIG)
    TensorFlowBackend().beam(model, BATCH.source, None, 4, beam=2)
    (step,) = decoding._programs[model].functions.values()
    assert step.experimental_get_tracing_count() == 1


def test_a_scaled_output_decodes_as_its_layers_compute():
    """One sentence is decoded by a shortcut, as T5's model is: its tokens are the likeliest by the layers."""
    backend = TensorFlowBackend()
    model = backend.build(CONFIG.replace(output_scale=True, suppress_ids=()), seed=1)
    (ids,) = backend.greedy(model, BATCH.source, None, 4)
    logits = backend.logits(model, BATCH.source, np.array([[CONFIG.start_id, *ids[:3]]]))
    assert len(ids) == 4 and logits[0].argmax(axis=-1).tolist() == ids


def test_decoding_does_not_keep_a_model_alive():
    model = TensorFlowBackend().build(CONFIG)
    TensorFlowBackend().greedy(model, BATCH.source, None, 2)
    TensorFlowBackend().beam(model, BATCH.source, None, 2, beam=2)
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


@pytest.mark.long
def test_keras_on_another_backend_is_refused():
    program = "import keras, transformer_mb.backends.tensorflow"
    run = subprocess.run([sys.executable, "-c", program], env={"KERAS_BACKEND": "numpy"}, capture_output=True, text=True)
    assert run.returncode == 1
    message = "needs Keras on TensorFlow, but Keras was already imported on numpy. Set KERAS_BACKEND=tensorflow"
    assert message in run.stderr.splitlines()[-1]


def test_a_sum_that_ends_late_draws_the_last_token_that_was_kept():
    assert tokens_of_late_sums(drawn, tf.constant) == LAST_KEPT
