"""Names and arguments in Python: public names, pairs and numbers, options that could not be used, and a block's arguments."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transformer_mb as tmb
from trainings import TINY, TRAINED_ON
from transformer_mb import registry
from transformer_mb.data import Pairs
from transformer_mb.distributed import Place
from transformer_mb.errors import BackendError, ConfigError, DataError, DistributedError, TransformerMBError
from transformer_mb.layer_options import BlockOptions, Chosen, decoder_block_arguments, encoder_block_arguments
from transformer_mb.parity.rows.model_cases import CONFIGS
from transformer_mb.presets import PRESETS
from transformer_mb.registry import canonical_name, get_backend
from transformer_mb.training import TrainingRecipe
from transformer_mb.training.initial_model import ignored_initial
from transformer_mb.training.settings import Settings

SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "max_len": 7}


@pytest.fixture(scope="module")
def backend():
    return tmb.get_backend("numpy")


@pytest.fixture(scope="module")
def model(backend):
    return backend.build(tmb.presets.d2l(10, 12, **SMALL))


def test_backend_translator_batches_and_vocabulary_say_what_they_are(backend, model, translator):
    source, target = len(translator.source_vocabulary), len(translator.target_vocabulary)
    assert repr(backend) == "NumPyBackend(device='cpu', dtype='float32')"
    assert repr(translator) == (
        f"Translator(numpy, cpu, float32: {source} source tokens, {target} target tokens, lines of at most 29)"
    )
    batches = tmb.Batches([([4], [5, 6]), ([4, 4], [5]), ([7], [8])], batch_size=2)
    assert repr(batches) == "Batches(2 of batch_size 2, num_pairs 3, num_tokens 7)"
    assert repr(translator.target_vocabulary) == f"Vocabulary({target} tokens, pipeline d2l)"


def test_dir_shows_public_names_alone():
    code = "import transformer_mb as tmb; print(*dir(tmb)); print(*dir(tmb.presets))"
    top, presets = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert set(top.split()) == {"__version__", *tmb.__all__} and {"Translator", "Vocabulary", "Batches"} <= set(top.split())
    assert set(presets.split()) == {"ARCHITECTURES", "PRESETS", "RECIPES", *tmb.presets.PRESETS}
    assert all(getattr(tmb, name) is not None for name in tmb.__all__)


@pytest.mark.parametrize("name", ["NumPy", "np", "NUMPY", "numpy"])
def test_a_backend_by_the_names_that_people_use(name, cli, trained, settings_file, tmp_path):
    assert tmb.get_backend(name).name == "numpy"
    if name == "np":  # what is recorded is its one name
        assert cli("train", settings_file, "--epochs", 1, "--backend", name, "--out", tmp_path / "model").status == 0
        assert json.loads((tmp_path / "model" / "trainer.json").read_text())["data"]["run"]["backend"] == "numpy"


def test_every_other_name_of_a_backend_means_one_that_is_there():
    assert set(registry.OTHER_NAMES.values()) == set(registry.BUILT_IN) and not set(registry.OTHER_NAMES) & set(
        registry.BUILT_IN
    )
    for given, canonical in {
        "Torch": "torch",
        "pytorch": "torch",
        "keras": "tensorflow",
        "flax": "jax",
        "MXNet": "mxnet",
    }.items():
        assert registry.canonical_name(given) == canonical
    for given, meant in (("troch", "torch"), ("tensorfow", "tensorflow"), ("kears", "tensorflow")):
        with pytest.raises(BackendError, match=f"must be one of numpy, .*, got '{given}'. Did you mean {meant}?"):
            tmb.get_backend(given)
    with pytest.raises(BackendError, match=r"got 'caffe'\.$"):
        tmb.get_backend("caffe")


# What Python may give: pairs, numbers of NumPy, names of options with a suggestion where one is wrong.


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


# What is said of a training and could not be used: refused, or told, before anything of a folder is looked at.

PAIRS = [("a b", "x y"), ("b a", "y x")]
ONE_HEAD: dict[str, Any] = {
    "num_hiddens": 8,
    "ffn_num_hiddens": 8,
    "num_layers": 1,
    "num_heads": 1,
    "epochs": 1,
    "backend": "numpy",
}


def refusal(*places: Any, **options: Any) -> str:
    with pytest.raises(TransformerMBError) as caught:
        tmb.train(PAIRS, *places, **{**ONE_HEAD, **options})
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("target", "t.txt"), ("validation_target", "t.txt"), ("cache", "c"), ("columns", (1, 2)), ("bad_lines", "drop")],
)
def test_what_is_said_of_a_file_is_refused_where_none_is_read(name: str, value: Any) -> None:
    words = refusal(**{name: value})
    assert words.startswith(f"{name} (--{name.replace('_', '-')}) is ") and "must name that file, got" in words


@pytest.mark.parametrize(
    ("name", "value"),
    [("place", 3), ("progress", 3), ("progress", tmb.training.Progress), ("signals", 3), ("signals", [signal.SIGKILL])],
)
def test_what_a_training_cannot_call_is_refused_by_name(name: str, value: Any) -> None:
    assert refusal(**{name: value}).startswith(f"{name} must be ")


def test_wrong_options_come_before_the_folder_that_holds_a_checkpoint(tmp_path: Path) -> None:
    tmb.train(PAIRS, tmp_path / "m", **ONE_HEAD)
    assert "holds a checkpoint already" in refusal(tmp_path / "m")
    for name in ("tokenizer", "vocabulary"):
        assert str(tmp_path / "none.json") in refusal(tmp_path / "m", **{name: tmp_path / "none.json"})
    assert "num_hiddens is 8, not 16" in refusal(tmp_path / "m", init_from=tmp_path / "m", num_hiddens=16)


def test_another_model_to_begin_from_is_told_where_a_training_goes_on() -> None:
    asked = Settings(run={"init_from": "b"})
    assert "began from the model of a" in next(ignored_initial(asked, "a"))
    assert "began from new weights" in next(ignored_initial(asked, None))
    assert not list(ignored_initial(asked, "./b")) and not list(ignored_initial(Settings(), "a"))


def test_what_a_training_began_from_is_kept_by_a_resume(tmp_path: Path) -> None:
    tmb.train(PAIRS, tmp_path / "a", **ONE_HEAD)
    for epochs in (1, 2):
        more = {**ONE_HEAD, "epochs": epochs, "init_from": tmp_path / "a", "resume": "auto"}
        tmb.train(PAIRS, tmp_path / "m", **more)
        trainer = tmb.checkpoint.read_checkpoint(tmp_path / "m").trainer
        assert trainer["epoch"] == epochs and trainer["data"]["init_from"] == str(tmp_path / "a")


def test_half_of_a_place_is_named_and_no_processes_are_too_few() -> None:
    with pytest.raises(DistributedError, match="got WORLD_SIZE without RANK"):
        Place.from_environment({"WORLD_SIZE": "2"})
    with pytest.raises(DistributedError, match="WORLD_SIZE must be a whole number from 1"):
        Place.from_environment({"WORLD_SIZE": "0", "RANK": "0"})


# The arguments of a configuration's blocks, and what a layer says of options that it lacks.

BACKEND = get_backend("numpy")


@pytest.mark.parametrize("name", CONFIGS)
def test_a_block_by_itself_is_that_of_the_model(name):
    config = CONFIGS[name]
    model = BACKEND.create_empty(config)
    for layer, arguments, within in (
        ("EncoderBlock", encoder_block_arguments(config), next(iter(model.encoder.blks))),
        ("DecoderBlock", decoder_block_arguments(config, 0), next(iter(model.decoder.blks))),
    ):
        block = BACKEND.layer(layer, **arguments)
        assert BACKEND.parameter_shapes(block) == BACKEND.parameter_shapes(within)
        assert block.addnorm1.pre == within.addnorm1.pre and block.addnorm1.ln.kind == within.addnorm1.ln.kind


def test_defaults_and_what_attention_dropout_falls_back_to():
    chosen = Chosen(BlockOptions, {"norm_eps": 0.5}, dropout=0.3)
    assert (chosen.norm_eps, chosen.norm_kind, chosen.attention_dropout) == (0.5, "layer_norm", 0.3)
    with pytest.raises(ConfigError, match=r"Unknown option\(s\): final_norm\."):
        Chosen(BlockOptions, {"final_norm": True}, dropout=0.0)
