"""Every option in one file: the example, the printed configuration, and the words where a field is wrong."""

import dataclasses
import json
import re
import tomllib
from pathlib import Path

import pytest

from trainings import files
from transformer_mb import training_options
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import ConfigError
from transformer_mb.training import TrainingRecipe
from transformer_mb.training.configuration_file import example
from transformer_mb.training.settings import read_toml
from transformer_mb.training.tables import documented_tables

EXAMPLE = Path(__file__).parents[2] / "examples" / "train.toml"
SIZES = ("--num-hiddens", 8, "--ffn-num-hiddens", 8, "--num-layers", 1, "--num-heads", 2, "--batch-size", 8)
OF_VOCABULARIES = ("source_vocab_size", "target_vocab_size", "pad_id", "bos_id", "eos_id")
PAGE = Path(__file__).parents[2] / "docs" / "TRAINING.md"


def test_the_example_is_what_the_code_makes():
    assert EXAMPLE.read_text() == example(), "python -m transformer_mb.training.configuration_file > examples/train.toml"


def test_the_example_trains_as_nothing_does(cli, data, tmp_path):
    """All its values are the defaults: the models are the same."""
    flags = ("--data", data, "--num-examples", 6, "--epochs", 1)
    assert cli("train", EXAMPLE, *flags, "--out", tmp_path / "file").status == 0
    assert cli("train", *flags, "--out", tmp_path / "flags").status == 0
    one, two = (json.loads((tmp_path / name / "trainer.json").read_text())["recipe"] for name in ("file", "flags"))
    assert one == two
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "file" / name).read_bytes() == (tmp_path / "flags" / name).read_bytes()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[decoding]\nbeem = 2\n", "Unknown field(s) of [decoding]: beem. Did you mean beam?"),
        ("[decoding]\nbeam = 0\n", "beam must be"),
        ("[decoding]\ncoverage_penalty = -1\n", "coverage_penalty must be"),
        ("[decoding]\ntoo_long = 'shorten'\n", "too_long must be one of stop, cut, skip, got 'shorten'."),
        ("[decoding]\nlength_penalty = 'much'\n", "length_penalty must be a finite number, got 'much'."),
        ("[training]\nbeam = 2\n", "beam belongs in [decoding]."),
        ("[decodin]\n", "Did you mean decoding?"),
        ("[training]\nvalidate_every = 2\n", "Did you mean validate_every_steps?"),
        ("[model]\nnum_hidden = 8", "Unknown field(s) of [model]: num_hidden. Did you mean num_hiddens? There are: "),
        ("epochs = 2", "run.toml: epochs. epochs belongs in [training]. There are: "),
        ("num_hiddens = 8", "run.toml: num_hiddens. num_hiddens belongs in [model]. There are: "),
        ("[training]\nlr = 0.1", "Unknown field(s) of [training]: lr. Did you mean learning_rate? There are: "),
        ("[training]\nnum_heads = 2", "of [training]: num_heads. num_heads belongs in [model]. There are: "),
        ("[model]\nbackend = 'jax'", "backend belongs in the top level, above the tables. There are: "),
        ("[data]\nsorce = 'x'", "sorce. Did you mean source? There are: "),
    ],
)
def test_a_wrong_option_is_named_with_the_nearest(fails, data, tmp_path, text, words):
    (tmp_path / "run.toml").write_text(text)
    message = fails("train", tmp_path / "run.toml", "--data", data, "--out", tmp_path / "model")
    assert words in message and "source_vocab_size" not in message


def test_decoding_is_what_the_validation_is_scored_with(cli, settings_file, data, tmp_path, monkeypatch):
    from transformer_mb.cli.commands import evaluate

    seen = []
    real = evaluate.score

    def score(translator, pairs, *search):
        seen.append((*search, translator.max_steps, translator.too_long))
        return real(translator, pairs, *search)

    monkeypatch.setattr(evaluate, "score", score)
    path = tmp_path / "run.toml"
    decoding = '\n[decoding]\nbeam = 2\nlength_penalty = 1.0\ncoverage_penalty = 0.5\nmax_steps = 4\ntoo_long = "skip"\n'
    path.write_text(settings_file.read_text() + decoding)
    command = ("--epochs", 1, "--out", tmp_path / "model", "--validation", data)
    assert cli("train", path, *command).status == 0
    assert cli("train", *command[:0], "--resume", "--epochs", 2, "--out", tmp_path / "model").status == 0
    assert cli("train", settings_file, *command, "--force").status == 0
    assert seen == [(2, 1.0, 0.5, "13a", 4, "skip")] * 2 + [(1, 0.6, 0.0, "13a", None, "cut")]


def test_the_words_of_decoding_are_those_of_its_options():
    from transformer_mb.training.settings import DecodingOptions
    from transformer_mb.training_options import DECODING

    assert list(DECODING) == [field.name for field in dataclasses.fields(DecodingOptions)]
    assert read_toml(EXAMPLE).decoding_options() == DecodingOptions()


def test_options_without_effect_are_named(cli, data, tmp_path):
    def notes(text: str) -> list[str]:
        (tmp_path / "run.toml").write_text(f"[training]\n{text}")
        outcome = cli(
            "train", tmp_path / "run.toml", "--data", data, "--out", tmp_path / "model", "--force", *SIZES, "--epochs", 1
        )
        assert outcome.status == 0
        return [line for line in outcome.out.splitlines() if line.startswith("note: ")]

    assert notes("momentum = 0.5") == ["note: momentum has no effect with adam"]
    assert notes("optimizer = 'sgd'\nbetas = [0.5, 0.9]\nmomentum = 0.5") == ["note: betas has no effect with sgd"]


def test_the_printed_configuration_gives_the_same_run(cli, data, tmp_path):
    flags = ("--data", data, "--preset", "annotated", "--num-hiddens", 8, "--ffn-num-hiddens", 8, "--num-layers", 1)
    flags = (*flags, "--num-heads", 2, "--dropout", 0.2, "--epochs", 1, "--num-examples", 20, "--validation", data)
    printed = cli("train", *flags, "--print-config")
    assert printed.status == 0
    path = tmp_path / "run.toml"
    path.write_text(printed.out)
    assert cli("train", *flags, "--out", tmp_path / "flags").status == 0
    assert cli("train", path, "--out", tmp_path / "file").status == 0
    assert files(tmp_path / "flags") == files(tmp_path / "file")
    assert cli("train", path, "--print-config").out == printed.out
    all_set = tomllib.loads(re.sub(r"(?m)^# (\w+) = \(not set\)$", r"\1 = 0", printed.out))
    written = {name: set(table) for name, table in all_set.items() if isinstance(table, dict)}
    assert written["model"] == {item.name for item in dataclasses.fields(TransformerConfig)} - {*OF_VOCABULARIES}
    assert written["training"] == {item.name for item in dataclasses.fields(TrainingRecipe)}
    assert written["data"] == set(training_options.DATA)


def test_what_is_not_set_says_so(cli):
    assert "# device = (not set)\n" in cli("train", "--print-config").out


def test_num_heads_beside_a_sides_own_is_refused(fails, data, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("[model]\nnum_heads = 2\nencoder_num_heads = 4\n")
    message = fails("train", path, "--data", data, "--out", tmp_path / "model")
    assert "num_heads sets both sides, got num_heads = 2 beside encoder_num_heads = 4" in message


def test_the_words_of_options_are_those_of_the_dataclasses():
    recipe, model = ({item.name: item for item in dataclasses.fields(kind)} for kind in (TrainingRecipe, TransformerConfig))
    assert [(name, row.default) for name, row in training_options.TRAINING.items()] == [
        (name, item.default) for name, item in recipe.items()
    ]
    assert list(training_options.MODEL) == [name for name in model if name not in OF_VOCABULARIES]
    kinds = {name: str(kind).removeprefix("<class '").removesuffix("'>") for name, kind in training_options.KINDS.items()}
    assert {name: kinds[name] for name in (*training_options.MODEL, *recipe)} == {
        name: item.type for name, item in (model | recipe).items() if name in kinds
    }
    for name, row in training_options.SIDES.items():
        assert {model[f"{side}_{name}"].default for side in ("encoder", "decoder")} == {row.default}
    assert documented_tables() in PAGE.read_text(), "put the output of `python -m transformer_mb.training.tables` there"


@pytest.mark.parametrize("name", ["num_layers", "num_heads"])
def test_a_number_of_both_sides_that_is_none_is_refused(tmp_path, name):
    (tmp_path / "run.toml").write_text(f"[model]\n{name} = nan\n")
    with pytest.raises(ConfigError, match=f"encoder_{name} must be a whole number, got nan"):
        read_toml(tmp_path / "run.toml").config(source_vocab_size=9, target_vocab_size=9)


def test_a_number_of_thousands_of_digits_is_refused_in_words():
    with pytest.raises(
        ConfigError, match="epochs must be a whole number below 9007199254740992, got one with thousands of digits"
    ):
        TrainingRecipe(epochs=10**5000)
