"""EncoderDecoder as Keras' own programs use a model: all inputs in one, compile, fit, predict, functional models, files."""

import keras
import numpy as np
import pytest

from native import small
from transformer_mb.backends.tensorflow import EncoderDecoder, TensorFlowBackend
from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import ShapeError, TokenError

CONFIG = small.CONFIG.replace(dropout=0.0)
DECODER = TransformerConfig(
    architecture="decoder", target_vocab_size=13, num_hiddens=8, ffn_num_hiddens=16, dropout=0.0, decoder_num_layers=1
)
random = np.random.default_rng(0)
BATCH = Batch(
    random.integers(4, 12, (6, 4)),
    np.array([4, 3, 1, 2, 4, 4]),
    random.integers(4, 13, (6, 5)),
    random.integers(4, 13, (6, 5)),
    np.array([5, 2, 4, 1, 3, 5]),
)
SOURCE, LENS, TARGET = BATCH[:3]
# What our own loss weighs each step with: those of a row up to its length, over the number of steps.
WEIGHTS = (np.arange(5) < BATCH.target_valid_lens[:, None]) / 5.0
SUMMED = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")


def logits(model, *inputs):
    return model(*inputs, training=False)[0].numpy()


def test_fit_is_the_trainers_step():
    model, twin = (TensorFlowBackend().build(CONFIG, seed=1) for _ in range(2))
    trainer = TensorFlowBackend().trainer(twin, optimizer="sgd", learning_rate=0.05)
    expected = [float(trainer.step(BATCH)) for _ in range(2)]
    model.compile(keras.optimizers.SGD(0.05), SUMMED)
    history = model.fit(
        [SOURCE, TARGET, LENS], BATCH.target_out, sample_weight=WEIGHTS, batch_size=6, epochs=2, verbose=0
    ).history["loss"]
    np.testing.assert_allclose(history, expected, rtol=1e-5)
    assert expected[1] < expected[0]
    theirs, ours = (TensorFlowBackend().get_weights(each) for each in (model, twin))
    for name, weight in ours.items():
        np.testing.assert_allclose(theirs[name], weight, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.long
def test_a_compiled_model_learns_and_goes_through_a_file(tmp_path):
    keras.utils.set_random_seed(3)
    model = EncoderDecoder.from_config(CONFIG.replace(num_hiddens=32))
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    source = random.integers(4, 12, (64, 4))
    target = np.concatenate([np.full((64, 1), 2), source[:, ::-1]], axis=1)
    inputs = {"enc_X": source, "dec_X": target[:, :-1], "enc_valid_lens": np.full(64, 4)}
    losses = model.fit(inputs, target[:, 1:], epochs=40, batch_size=32, verbose=0).history["loss"]
    assert losses[-1] < 0.3 * losses[0]  # 0.10 to 0.13 of it with five seeds
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.loss.from_logits and loaded.optimizer.iterations == 80
    np.testing.assert_array_equal(loaded(inputs), model(inputs))


def test_a_model_takes_all_inputs_in_one_argument():
    model = TensorFlowBackend().build(CONFIG, seed=1)
    named = {"enc_X": SOURCE, "dec_X": TARGET}
    short, whole = logits(model, SOURCE, TARGET, LENS), logits(model, SOURCE, TARGET)
    assert np.abs(short - whole).max() > 1e-3
    for inputs, expected in (
        ([SOURCE, TARGET], whole),
        ((SOURCE, TARGET, LENS), short),
        (named, whole),
        ({"enc_valid_lens": LENS, **named}, short),
    ):
        np.testing.assert_array_equal(model(inputs, training=False), expected)
    np.testing.assert_allclose(model.predict([SOURCE, TARGET, LENS], verbose=0), short, rtol=1e-5, atol=1e-5)
    for wrong, got in (([SOURCE], "1 of them"), ([SOURCE] * 4, "4 of them"), ({"enc_X": SOURCE, "X": TARGET}, "enc_X, X")):
        with pytest.raises(ShapeError, match=f"The inputs must be enc_X, dec_X and perhaps enc_valid_lens, got {got}"):
            model(wrong)


@pytest.mark.long(but=1)
@pytest.mark.parametrize(("with_lens", "in_one"), [(True, False), (False, True)], ids=["lengths, one by one", "in one"])
def test_a_model_within_a_functional_model_and_its_file(with_lens, in_one, tmp_path):
    inner = TensorFlowBackend().build(CONFIG, seed=1)
    inputs = [keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")]
    inputs += [keras.Input((), dtype="int32")] if with_lens else []
    output = inner(inputs) if in_one else inner(*inputs)[0]
    assert output.shape == (None, None, 13)
    model = keras.Model(inputs, keras.layers.Softmax()(output))
    arrays = [SOURCE, TARGET, *([LENS] if with_lens else [])]
    expected = keras.ops.softmax(logits(inner, *arrays))
    np.testing.assert_allclose(model(arrays), expected, rtol=1e-5, atol=1e-6)
    model.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(keras.models.load_model(tmp_path / "model.keras")(arrays), model(arrays))


def test_a_decoder_or_an_encoder_alone_takes_its_inputs_in_one_argument():
    decoder = TensorFlowBackend().build(DECODER, seed=1)
    expected = logits(decoder, None, TARGET)
    for inputs in (TARGET, [TARGET], {"dec_X": TARGET}):
        np.testing.assert_array_equal(decoder(inputs, training=False), expected)
    tokens = keras.Input((None,), dtype="int32")
    np.testing.assert_array_equal(keras.Model(tokens, decoder(tokens))(TARGET), expected)
    config = TransformerConfig(architecture="encoder", source_vocab_size=12, num_hiddens=8, ffn_num_hiddens=16)
    encoder = TensorFlowBackend().build(config, seed=1)
    states = encoder(SOURCE, None, LENS, training=False)
    np.testing.assert_array_equal(encoder([SOURCE, LENS], training=False), states)


def test_eager_keras_refuses_lengths_out_of_range():
    """Compiled, predict and fit see shapes alone; ``run_eagerly=True`` brings the checks of values back."""
    model = TensorFlowBackend(device="cpu").build(CONFIG)
    model.compile(keras.optimizers.SGD(0.05), SUMMED, run_eagerly=True)
    for wrong in (LENS + 9, LENS - 0.5):
        with pytest.raises(TokenError, match="valid_lens must hold (lengths from 0 to 4|whole numbers)"):
            model.predict([SOURCE, TARGET, wrong], verbose=0)
        with pytest.raises(TokenError, match="valid_lens must hold (lengths from 0 to 4|whole numbers)"):
            model.fit([SOURCE, TARGET, wrong], BATCH.target_out, sample_weight=WEIGHTS, verbose=0)
    with pytest.raises(TokenError, match="must hold token ids from 0 to 11"):
        model.predict([SOURCE + 9, TARGET, LENS], verbose=0)
