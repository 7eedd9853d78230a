"""``train --resume``: what must be as it began, what is said of it, and what a damaged state is called."""

import json

import pytest

import transformer_mb as tmb
from trainings import TINY, TRAINED_ON, files
from transformer_mb.errors import CheckpointError, ConfigError, DataError
from transformer_mb.registry import VARIABLE


def train(*arguments, **options):
    return tmb.train(TRAINED_ON, *arguments, **{**TINY, "learning_rate": 0.02, **options})


def test_a_preset_or_a_flag_that_contradicts_the_checkpoint_is_refused(fails, checkpoint):
    resumed = ("train", "--resume", "--out", checkpoint, "--epochs", 61)
    assert "the preset it began with, None, got vaswani_base." in fails(*resumed, "--preset", "vaswani_base")
    assert "num_hiddens was 32 and is 64" in fails(*resumed, "--num-hiddens", 64)
    assert "encoder_num_layers was 1 and is 3; decoder_num_layers was 1 and is 3" in fails(*resumed, "--num-layers", 3)
    assert "keep was 'best' and is 'last'" in fails(*resumed, "--keep", "last")


def test_a_preset_is_recorded(cli, data, tmp_path):
    command = ("train", "--data", data, "--preset", "d2l", "--num-examples", 9, "--out", tmp_path / "model")
    assert cli(*command, "--epochs", 1).status == 0
    resumed = cli(*command, "--epochs", 2, "--resume")
    assert resumed.status == 0 and "continuing epoch 2 of 2 with numpy, cpu, float32, as it began" in resumed.out


@pytest.mark.parametrize("asked", [(), ("--epochs", 1)])
def test_a_finished_training_says_so_and_stays(cli, checkpoint, asked):
    before = files(checkpoint)
    outcome = cli("train", "--resume", "--out", checkpoint, *asked)
    assert outcome.status == 0 and outcome.out.endswith("already at epoch 60: epochs must be more than 60 to go on\n")
    assert "tokens/s" not in outcome.out and "saved" not in outcome.out and files(checkpoint) == before


def test_the_speed_is_that_of_what_was_trained_now(tmp_path):
    first = train(tmp_path / "model", epochs=1)
    trainer = json.loads((tmp_path / "model" / "trainer.json").read_text())
    trainer["history"][0]["seconds"] = 1e6
    del trainer["saved_with"]  # as an older checkpoint has none
    (tmp_path / "model" / "trainer.json").write_text(json.dumps(trainer))
    again = tmb.train(None if first.folder is None else TRAINED_ON, tmp_path / "model", epochs=2, resume=True)
    assert again.tokens_per_second > 10 * again.state.tokens_per_second
    assert tmb.train(TRAINED_ON, tmp_path / "model", resume=True).tokens_per_second == 0.0


def test_a_resume_stays_on_its_backend_and_says_where_it_runs(cli, checkpoint, monkeypatch):
    monkeypatch.setenv(VARIABLE, "nonesuch")
    outcome = cli("train", "--resume", "--epochs", 61, "--out", checkpoint)
    assert "continuing epoch 61 of 61 with numpy, cpu, float32, as it began" in outcome.out
    outcome = cli("train", "--resume", "--epochs", 62, "--out", checkpoint, "--dtype", "float64")
    assert "continuing epoch 62 of 62 with numpy, cpu, float64, which began with dtype float32" in outcome.out
    assert "(numpy, cpu, float64)" in outcome.out


def test_a_resume_names_all_that_is_not_as_it_began(cli, checkpoint):
    resumed = ("train", "--resume", "--out", checkpoint, "--epochs")
    changes = ("--learning-rate", "0.02", "--clip-norm", 0, "--label-smoothing", "0.1", "--save-every", 3)
    outcome = cli(*resumed, 61, *changes)
    began = "save_every 10, learning_rate 0.01, clip_norm 1.0 and label_smoothing 0.0"
    assert outcome.out.splitlines()[-3].endswith(f"with numpy, cpu, float32, which began with {began}"), outcome.out
    assert "numpy, cpu, float32, as it began" in cli(*resumed, 62).out
    assert "which began with no clip_norm\n" in cli(*resumed, 63, "--clip-norm", 1).out


def test_a_resume_with_other_pairs_says_how_they_differ(fails, pairs, tmp_path):
    tmb.train(pairs, tmp_path / "model", epochs=1, **TINY)
    other = [*pairs[:-1], ("a", "b")]
    with pytest.raises(DataError, match=r"it began with, got others: 40 as before, but of other content or in another order\."):
        tmb.train(other, tmp_path / "model", epochs=2, resume=True)
    with pytest.raises(DataError, match=r"it began with, got others: 39 pairs, not 40\."):
        tmb.train(pairs[1:], tmp_path / "model", epochs=2, resume=True)
    file = tmp_path / "other.tsv"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in other))
    message = fails("train", "--data", file, "--out", tmp_path / "model", "--resume", "--epochs", 2)
    assert f"got others from {file}: 40 as before, but of other content" in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "trainer.json must hold a whole number of at least 0 as epoch, got None"),
        ({"data": 5}, "trainer.json must hold a table as data, got 5"),
        ({"recipe": [1]}, r"trainer.json must hold a table as recipe, got [1]"),
        ({"data": {"run": [1]}}, r"trainer.json must hold a table as run, got [1]"),
        ({"data": {"run": {"log": 5}}}, "trainer.json must hold text as log, got 5"),
        ({"data": {"run": {"save_every_steps": "5"}}}, "trainer.json must hold a whole number as save_every_steps, got '5'"),
        ({"recipe": {"epochs": "x"}}, "trainer.json holds no valid recipe: epochs must be a whole number"),
    ],
)
def test_a_damaged_state_of_training_is_said_to_be_damaged(fails, checkpoint, data, content, words):
    path = checkpoint / "trainer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **content} if content else {}))
    for more in ((), ("--data", data)):
        message = fails("train", "--resume", "--out", checkpoint, *more)
        assert f"The checkpoint in {checkpoint} is damaged: {words}" in message


def test_errors_name_pythons_arguments_in_python_and_flags_in_the_command(fails, pairs, tmp_path):
    tmb.train(pairs, tmp_path / "model", epochs=1, **TINY)
    again = r"^data must be the same pairs again, since the training began with pairs and no file, got none\.$"
    with pytest.raises(ConfigError, match=again):
        tmb.train(None, tmp_path / "model", resume=True)
    with pytest.raises(ConfigError, match=r"^data must be a file of sentence pairs, or the pairs, got none\.$"):
        tmb.train(None, tmp_path / "other")
    with pytest.raises(ConfigError, match=r"^folder must be that of the checkpoint which resume continues, got None\.$"):
        tmb.train(pairs, resume=True)
    with pytest.raises(CheckpointError, match=r"already: resume=True .* continues it, force=True .* replaces it"):
        tmb.train(pairs, tmp_path / "model", **TINY)
    flag = "(--data FILE, or source in [data])"
    assert f"the same pairs again {flag}, since" in fails("train", "--resume", "--out", tmp_path / "model")
    assert f"data must be a file of sentence pairs {flag}, got none." in fails("train", "--out", tmp_path / "other")


def test_a_resume_is_checked_before_anything_is_said(cli, checkpoint):
    for option in (("--seed", 7), ("--batch-size", 32), ("--early-stopping", 2)):
        outcome = cli("train", "--resume", "--out", checkpoint, *option)
        assert outcome.status == 2 and outcome.out == "" and outcome.err.startswith("Error: ")


def test_a_resume_that_trains_nothing_reports_the_training_that_was(cli, checkpoint, tmp_path):
    outcome = cli("train", "--resume", "--out", checkpoint, "--backend", "torch", "--json", tmp_path / "run.json")
    found = json.loads((tmp_path / "run.json").read_text())
    assert outcome.status == 0 and (found["backend"], found["tokens_per_second"]) == ("numpy", None)


WRONG_OPTIONS = {
    ("--keep", "wurst"): "keep must be one of best, last, got 'wurst'",
    ("--num-heads", 5): "num_hiddens must be divisible by encoder_num_heads",
    ("--device", "cudaa"): "device",
    ("--dtype", "float31"): "must be one of float32, float64, got ",
    ("--early-stopping", 3): "early_stopping needs pairs that are measured",
}


@pytest.mark.parametrize("option", WRONG_OPTIONS)
def test_a_wrong_option_is_said_before_a_folder_that_is_there(fails, checkpoint, data, option):
    """Who has to name another folder first would hear of the option at the second try only."""
    assert WRONG_OPTIONS[option] in fails("train", "--data", data, "--out", checkpoint, *option)
