"""What Python may give: pairs, numbers of NumPy, names of options with a suggestion where one is wrong."""

import json

import numpy as np
import pytest

import transformer_mb as tmb
from transformer_mb.data import Pairs, demo_pairs
from transformer_mb.errors import ConfigError, DataError
from transformer_mb.presets import PRESETS
from transformer_mb.registry import canonical_name
from transformer_mb.training import TrainingRecipe

TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 8, "backend": "numpy"}
SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "max_len": 7}
TRAINED_ON = demo_pairs()[0][:24]


@pytest.fixture(scope="module")
def backend():
    return tmb.get_backend("numpy")


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(tmb.presets.d2l(10, 12, **SMALL))


@pytest.mark.parametrize("data", [["ab", "cd"], [b"ab"], [("a", "b"), "cd"], [(b"a", b"b")], [("a", 1)], {"ab": 1}, [("a",)]])
def test_a_text_is_no_pair(data):
    with pytest.raises(DataError, match=r"Sentence pairs must be \(source, target\) texts, but pair [12] is "):
        tmb.train(data, epochs=1, **TINY)


def test_a_number_is_no_pairs():
    with pytest.raises(DataError, match=r"Sentence pairs must be \(source, target\) texts, or the path of a file, got 5\."):
        tmb.train(5, epochs=1, **TINY)


def test_numbers_of_numpy_are_numbers_and_stay_plain():
    recipe = TrainingRecipe(epochs=np.int64(1), learning_rate=np.float32(0.5), betas=(np.float64(0.5), 0.9))
    assert (recipe.epochs, recipe.learning_rate, recipe.betas) == (1, 0.5, (0.5, 0.9))
    config = tmb.presets.d2l(np.int64(9), 9, dropout=np.float32(0.25), suppress_ids=[np.int64(1)], num_hiddens=np.int32(8))
    assert config == tmb.presets.d2l(9, 9, dropout=0.25, suppress_ids=[1], num_hiddens=8)
    for given in (recipe, config):
        json.dumps(given.to_dict())
    for name, kind in (("learning_rate", "a finite number"), ("epochs", "a whole number")):
        with pytest.raises(ConfigError, match=rf"{name} must be {kind}.*, got the truth value True\."):
            TrainingRecipe(**{name: True})
    with pytest.raises(ConfigError, match="epochs must be a whole number"):
        TrainingRecipe(epochs=np.float64(2.0))
    with pytest.raises(ConfigError, match="suppress_ids must be a list of whole numbers"):
        tmb.presets.d2l(9, 9, suppress_ids=[True])


def test_a_dtype_of_numpy_is_a_dtype(pairs, tmp_path):
    assert tmb.get_backend("numpy", dtype=np.float64).dtype == tmb.get_backend("numpy", dtype=np.dtype("float64")).dtype
    tmb.train(pairs, tmp_path / "model", epochs=1, dtype=np.float64, **TINY)
    assert json.loads((tmp_path / "model" / "trainer.json").read_text())["data"]["run"]["dtype"] == "float64"
    with pytest.raises(tmb.errors.DtypeError, match="must be one of float32, float64, got <class 'numpy.int8'>"):
        tmb.get_backend("numpy", dtype=np.int8)


def test_unknown_options_and_backends_suggest_what_was_meant(pairs):
    for given, meant in (("epoch", "epochs"), ("lr", "learning_rate"), ("d_model", "num_hiddens"), ("nhead", "num_heads")):
        with pytest.raises(ConfigError, match=rf"Unknown option\(s\) of train: {given}\. Did you mean {meant}\?"):
            tmb.train(pairs, **{given: 1})
    with pytest.raises(tmb.errors.BackendError, match=r"got 'pytorhc'\. Did you mean torch\?"):
        canonical_name("pytorhc")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"num_head": 2}, "num_head. Did you mean num_heads?"),
        ({"NUM_HIDDENS": 2, "drop_out": 0}, "NUM_HIDDENS, drop_out. Did you mean num_hiddens? Did you mean dropout?"),
    ],
    ids=str,
)
def test_an_unknown_field_of_a_preset_has_the_nearest_known(given, said):
    for name, preset in PRESETS.items():
        with pytest.raises(ConfigError) as caught:
            preset(10, 10, **given)
        assert str(caught.value).startswith(f"Unknown field(s) of {name}: {said} There are: ")


def test_an_unknown_field_is_a_config_error(backend, model):
    with pytest.raises(ConfigError, match=r"Unknown field\(s\) of TrainerOptions: foo\. There are: optimizer, .*, seed\."):
        backend.trainer(model, foo=1)
    with pytest.raises(ConfigError, match=r"TrainerOptions: learning_rates\. Did you mean learning_rate\?"):
        backend.trainer(model, learning_rates=1)
    for make in (tmb.TransformerConfig, model.config.replace):
        with pytest.raises(ConfigError, match=r"TransformerConfig: num_hidden\. Did you mean num_hiddens\?"):
            make(num_hidden=8)


def test_pairs_given_in_python_are_checked():
    assert tmb.train(Pairs([("a", "b"), ("", "c")]), epochs=1, backend="numpy").corpus.skipped == 1
    for wrong in ([("a",)], [1], 3):
        with pytest.raises(DataError, match="must be \\(source, target\\) texts"):
            tmb.train(wrong)
    with pytest.raises(ConfigError, match=r"Unknown option\(s\) of train: epoch\. Did you mean epochs\? There are: .*epochs"):
        tmb.train(TRAINED_ON, epoch=3)
