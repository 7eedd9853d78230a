"""TensorFlow's and Keras' own tools on our layers: checkpoints, exported programs, layers in the place of ours."""

import copy
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tools_page import check

import transformer_mb as tmb
from transformer_mb.porting.formats.native_loaders.tensorflow import load
from transformer_mb.presets import d2l

SIZES = {"num_hiddens": 8, "ffn_num_hiddens": 12, "encoder_num_heads": 2, "decoder_num_heads": 2}
CONFIG = d2l(23, 29, **SIZES)
SOURCE, TARGET, LENS = np.array([[5, 6, 7], [8, 9, 3]]), np.array([[2, 4, 5], [2, 6, 7]]), np.array([3, 2])


@pytest.fixture
def backend():
    return tmb.get_backend("tensorflow")


def logits(backend, model):
    return backend.logits(model, SOURCE, TARGET, LENS)


def names(path):
    found = {name for name, _ in tf.train.list_variables(str(path))} - {"_CHECKPOINTABLE_OBJECT_GRAPH"}
    return {name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name in found}


@pytest.mark.parametrize("made", ["built", "copied", "a block replaced"])
def test_a_checkpoint_holds_every_variable(made, backend, tmp_path):
    model, other = backend.build(CONFIG, seed=0), backend.build(CONFIG, seed=1)
    if made == "copied":
        model = copy.deepcopy(model)
    if made == "a block replaced":
        tf.train.Checkpoint(model=model).write(str(tmp_path / "before"))
        model.encoder.blks[1] = backend.build(CONFIG, seed=2).encoder.blks[0]
    path = tf.train.Checkpoint(model=model).write(str(tmp_path / "one"))
    assert len(names(path)) == len(backend.parameter_shapes(model)) == 64
    assert "model/encoder/blks/1/attention/W_q/_kernel" in names(path)
    status = tf.train.Checkpoint(model=other).read(path)
    status.assert_existing_objects_matched()
    status.assert_consumed()
    np.testing.assert_array_equal(logits(backend, other), logits(backend, model))


@pytest.mark.parametrize("called", ["optimizer", "adam"])
def test_weights_beside_their_optimizer_are_read_as_the_models(called, backend, tmp_path):
    """The file calls them by the shortest path, which leads through the optimizer's list of what it trains."""
    model, optimizer = backend.build(CONFIG, seed=0), keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model, **{called: optimizer}), str(tmp_path), 2)
    path = manager.save()
    assert sum(name.startswith(f"{called}/_trainable_variables/") for name in names(path)) == 64
    arrays, notes = load(tf, Path(path))
    assert len(arrays) == 64 and all(name.startswith("model/") for name in arrays)
    np.testing.assert_array_equal(
        arrays["model/encoder/blks/1/attention/W_q/_kernel"], model.encoder.blks[1].attention.W_q.kernel
    )
    assert len(notes) == 1 and notes[0].startswith("130 variables of Keras' optimizer ")  # two moments each, a count, a rate


def test_a_checkpoint_from_before_the_blocks_were_in_it_is_no_silent_half(backend, tmp_path):
    model = backend.build(CONFIG, seed=0)
    parts = (
        tf.train.Checkpoint(embedding=model.encoder.embedding),
        tf.train.Checkpoint(embedding=model.decoder.embedding, dense=model.decoder.dense),
    )
    path = tf.train.Checkpoint(model=tf.train.Checkpoint(encoder=parts[0], decoder=parts[1])).write(str(tmp_path / "old"))
    other = backend.build(CONFIG, seed=1)
    status = tf.train.Checkpoint(model=other).read(path)
    np.testing.assert_array_equal(other.decoder.dense.kernel, model.decoder.dense.kernel)
    with pytest.raises(AssertionError, match="not bound to checkpointed values"):
        status.assert_existing_objects_matched()


def fitted(model, inputs):
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(inputs, TARGET, verbose=0)


CALLS = {
    "fit": lambda model: fitted(model, [SOURCE, TARGET, LENS]),
    "fit without lengths": lambda model: fitted(model, [SOURCE, TARGET]),
    "a call": lambda model: model(SOURCE, TARGET, LENS),
    "predict": lambda model: model.predict([SOURCE, TARGET, LENS], verbose=0),
}


@pytest.mark.long(but=2)
@pytest.mark.parametrize("call", CALLS)
def test_a_model_is_exported_after(call, backend, tmp_path):
    model = backend.build(CONFIG, seed=0)
    CALLS[call](model)
    model.export(str(tmp_path / "program"), verbose=False)
    program = tf.saved_model.load(str(tmp_path / "program"))
    others = np.array([[5, 6, 7, 8, 9]] * 4), np.array([[2, 4]] * 4), np.array([5, 4, 3, 1])
    for inputs in ((SOURCE, TARGET, LENS), others):
        inputs = inputs[:2] if "without" in call else inputs
        given = [tf.constant(each) for each in inputs]
        np.testing.assert_allclose(program.serve(given), model(list(inputs)), rtol=0, atol=1e-5)


def test_what_was_never_called_is_not_exported(backend, tmp_path):
    with pytest.raises(ValueError, match="called at least once before export"):
        backend.build(CONFIG).export(str(tmp_path / "program"), verbose=False)


class Wrapper(keras.layers.Layer):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.factor = layer, 1.0
        self.built = True

    def call(self, X):
        return self.layer(X) * self.factor


PLACES = {
    "W_q": lambda model: (model.encoder.blks[0].attention, "W_q"),
    "W_v": lambda model: (model.decoder.blks[1].attention2, "W_v"),
    "dense1": lambda model: (model.decoder.blks[0].ffn, "dense1"),
    "ln": lambda model: (model.decoder.blks[0].addnorm3, "ln"),
    "dense": lambda model: (model.decoder, "dense"),
    "embedding": lambda model: (model.decoder, "embedding"),
}


@pytest.mark.long(but=3)
@pytest.mark.parametrize("place", PLACES)
def test_a_layer_around_one_of_ours_is_obeyed(place, backend):
    model = backend.build(CONFIG, seed=0)
    expected, decoded = logits(backend, model), backend.greedy(model, SOURCE, LENS, 3)
    holder, name = PLACES[place](model)
    wrapper = Wrapper(getattr(holder, name))
    setattr(holder, name, wrapper)
    np.testing.assert_allclose(logits(backend, model), expected, rtol=0, atol=1e-5)
    assert backend.greedy(model, SOURCE, LENS, 3) == decoded
    wrapper.factor = 0.0
    assert np.abs(logits(backend, model) - expected).max() > 1e-3


def same(model, other):
    np.testing.assert_array_equal(logits(tmb.get_backend("tensorflow"), other), logits(tmb.get_backend("tensorflow"), model))


def through_a_checkpoint(model, folder):
    path, other = (
        tf.train.Checkpoint(model=model).write(str(folder / "one")),
        tmb.get_backend("tensorflow").build(CONFIG, seed=1),
    )
    tf.train.Checkpoint(model=other).read(path).assert_consumed()
    same(model, other)


def through_a_weights_file(model, folder):
    other = tmb.get_backend("tensorflow").build(CONFIG, seed=1)
    model.save_weights(folder / "model.weights.h5")
    other.load_weights(folder / "model.weights.h5")
    same(model, other)


def through_kerass_file(model, folder):
    model.save(folder / "model.keras")
    same(model, keras.models.load_model(folder / "model.keras"))


def saved(model, folder):
    tf.saved_model.save(model, str(folder / "saved"))
    assert len(names(folder / "saved" / "variables" / "variables")) >= 64


def exported(model, folder):
    model(SOURCE, TARGET, LENS)
    model.export(str(folder / "program"), verbose=False)


TOOLS = {
    "copy.deepcopy": lambda model, _: same(model, copy.deepcopy(model)),
    "tf.train.Checkpoint": through_a_checkpoint,
    "tf.saved_model.save": saved,
    "model.export": exported,
    "model.save_weights": through_a_weights_file,
    "model.save": through_kerass_file,
}


@pytest.mark.parametrize(
    "tool", [pytest.param(tool, marks=pytest.mark.long if tool == "model.export" else ()) for tool in TOOLS]
)
def test_what_the_page_says_of_a_tool_is_so(tool, backend, tmp_path):
    check("tensorflow", TOOLS, tool, backend.build(CONFIG, seed=0), tmp_path)
