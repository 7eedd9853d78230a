"""Training that is ended from outside, what it is given, and its words."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

import transformer_mb as tmb
from interrupting import InterruptAt
from transformer_mb.errors import CheckpointError, ConfigError, DataError, TokenError
from transformer_mb.registry import canonical_name
from transformer_mb.training import EpochRecord, TrainingInterrupted, TrainingRecipe, interruption
from transformer_mb.training.interruption import ENDINGS, Interruption
from transformer_mb.training.printed_progress import Lines

TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 8, "backend": "numpy"}
FLAGS = ("--num-hiddens", 8, "--ffn-num-hiddens", 8, "--num-layers", 1, "--num-heads", 2, "--batch-size", 8)


def files(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "trainer.json"}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_training_that_is_ended_from_outside_is_saved_to_the_step(cli, data, tmp_path, number, status):
    parts, whole = tmp_path / "parts", tmp_path / "whole"
    train = ("train", "--data", data, *FLAGS, "--backend", "numpy")
    command = [sys.executable, "-m", "transformer_mb", *map(str, train), "--epochs", "100000", "--out", str(parts)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr.readline().startswith("epoch 1/100000")
    process.send_signal(number)
    process.send_signal(number)  # ``timeout`` and shells tell it twice
    _, err = process.communicate(timeout=60)
    assert process.returncode == status and "Traceback" not in err
    assert err.endswith(f"continues exactly there. Continue with: transformer-mb train --out {parts} --resume\n")
    reached = json.loads((parts / "trainer.json").read_text())
    assert reached["step"] == reached["epoch"] * 5 + reached["batch"] > 0
    epochs = reached["epoch"] + 1
    assert cli("train", "--resume", "--epochs", epochs, "--out", parts).status == 0
    assert cli(*train, "--epochs", epochs, "--out", whole).status == 0
    assert files(parts) == files(whole)


def test_python_takes_the_signals_that_it_is_told(pairs, tmp_path):
    own, calls = lambda number, frame: calls.append(number), []
    with pytest.raises(TrainingInterrupted) as caught:
        tmb.train(pairs, tmp_path / "model", epochs=3, progress=InterruptAt(2, signal.SIGTERM), signals=ENDINGS, **TINY)
    assert (caught.value.state.step, caught.value.exit_status) == (2, 143) and (tmp_path / "model" / "trainer.json").exists()
    assert [signal.getsignal(one) for one in ENDINGS] == [signal.default_int_handler, signal.SIG_DFL, signal.SIG_DFL]
    before = signal.signal(signal.SIGTERM, own)
    try:
        for options in ({}, {"signals": ENDINGS}):  # by default Ctrl-C alone, and never what the program handles itself
            assert tmb.train(pairs, epochs=1, progress=InterruptAt(2, signal.SIGTERM), **TINY, **options).state.step == 5
    finally:
        signal.signal(signal.SIGTERM, before)
    assert calls == [signal.SIGTERM] * 2


def test_a_second_signal_ends_at_once(monkeypatch):
    told, clock = [], [100.0]
    monkeypatch.setattr(interruption, "monotonic", lambda: clock[0])
    with pytest.raises(SystemExit) as caught, Interruption(lambda: told.append(1), ENDINGS) as interrupted:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)  # at the same time: the same request
        assert interrupted.requested and told == [1]
        clock[0] += 2.0
        signal.raise_signal(signal.SIGTERM)
    assert caught.value.code == 143
    with pytest.raises(KeyboardInterrupt), Interruption(lambda: None, ENDINGS):
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGINT)


def test_a_terminal_that_has_gone_does_not_stop_the_saving(monkeypatch):
    class Gone:
        def write(self, text):
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(sys, "stderr", Gone())
    lines = Lines(3)
    lines.interrupted()
    lines.epoch(EpochRecord(1, 1.0, 10, 1.0))


@pytest.mark.parametrize(
    ("pair", "error", "words"),
    [
        (([4, 3], [4.5, 3]), TokenError, r"target of pair 2 must hold ids that are whole numbers of at least 0, got 4\.5\."),
        ((np.array([4.0]), [3]), TokenError, r"source of pair 2 must hold ids .*, got .*4\.0"),
        (([4], [3, -1]), TokenError, r"target of pair 2 must hold ids .*, got -1\."),
        (([4], [1 << 70]), TokenError, r"target of pair 2 must hold ids .*, got 11805"),
        (([], [4]), DataError, r"source of pair 2 must have at least one token, got none"),
        (([4], np.array([], int)), DataError, r"target of pair 2 must have at least one token, got none"),
        (("ab"), DataError, r"Pair 2 must be \(source ids, target ids\), got 'ab'"),
        (([4],), DataError, r"Pair 2 must be \(source ids, target ids\), got \(\[4\],\)"),
        ((4, 5), DataError, r"Pair 2 must be \(source ids, target ids\), got \(4, 5\)"),
    ],
)
def test_batches_hold_whole_ids_on_both_sides(pair, error, words):
    with pytest.raises(error, match=words):
        tmb.Batches([([5], [6]), pair], batch_size=1)


def test_batches_take_ids_of_numpy():
    (batch,) = tmb.Batches([(np.array([5, 6], np.int32), (np.int64(7),))], batch_size=1, num_steps=3).epoch(0)
    assert batch.source.tolist() == [[5, 6, 3]] and batch.target_out.tolist() == [[7, 3, 1]]


@pytest.mark.parametrize("data", [["ab", "cd"], [b"ab"], [("a", "b"), "cd"], [(b"a", b"b")], [("a", 1)], {"ab": 1}, [("a",)]])
def test_a_text_is_no_pair(data):
    with pytest.raises(DataError, match=r"Sentence pairs must be \(source, target\) texts, but pair [12] is "):
        tmb.train(data, epochs=1, **TINY)


def test_a_number_is_no_pairs():
    with pytest.raises(DataError, match=r"Sentence pairs must be \(source, target\) texts, or the path of a file, got 5\."):
        tmb.train(5, epochs=1, **TINY)


@pytest.mark.parametrize("width", [10**8, 10**12])
def test_a_model_that_cannot_fit_is_refused_with_its_size(fails, data, tmp_path, width):
    message = fails("train", "--data", data, "--out", tmp_path / "model", "--num-hiddens", width, "--num-heads", 1)
    assert "The model must fit into memory, but its " in message and " parameters take " in message and " GiB " in message
    assert list(tmp_path.iterdir()) == []


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


def test_numbers_of_numpy_are_numbers_and_stay_plain():
    recipe = TrainingRecipe(epochs=np.int64(1), learning_rate=np.float32(0.5), betas=(np.float64(0.5), 0.9))
    assert (recipe.epochs, recipe.learning_rate, recipe.betas) == (1, 0.5, (0.5, 0.9))
    config = tmb.presets.d2l(np.int64(9), 9, dropout=np.float32(0.25), suppress_ids=[np.int64(1)], num_hiddens=np.int32(8))
    assert config == tmb.presets.d2l(9, 9, dropout=0.25, suppress_ids=[1], num_hiddens=8)
    for given in (recipe, config):
        json.dumps(given.to_dict())
    for name, kind in (("learning_rate", "a finite number"), ("epochs", "a whole number below")):
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[model]\nnum_hidden = 8", "Unknown field(s) of [model]: num_hidden. Did you mean num_hiddens? There are: "),
        ("epochs = 2", "run.toml: epochs. epochs belongs in [training]. There are: "),
        ("num_hiddens = 8", "run.toml: num_hiddens. num_hiddens belongs in [model]. There are: "),
        ("[training]\nlr = 0.1", "Unknown field(s) of [training]: lr. Did you mean learning_rate? There are: "),
        ("[training]\nnum_heads = 2", "of [training]: num_heads. num_heads belongs in [model]. There are: "),
        ("[model]\nbackend = 'jax'", "backend belongs in the top level, above the tables. There are: "),
        ("[data]\nsorce = 'x'", "sorce. Did you mean source? There are: "),
    ],
)
def test_a_wrong_field_of_the_settings_file_suggests_what_was_meant(fails, data, tmp_path, text, words):
    (tmp_path / "run.toml").write_text(text)
    message = fails("train", tmp_path / "run.toml", "--data", data, "--out", tmp_path / "model")
    assert words in message and "source_vocab_size" not in message


def test_unknown_options_and_backends_suggest_what_was_meant(pairs):
    for given, meant in (("epoch", "epochs"), ("lr", "learning_rate"), ("d_model", "num_hiddens"), ("nhead", "num_heads")):
        with pytest.raises(ConfigError, match=rf"Unknown option\(s\) of train: {given}\. Did you mean {meant}\?"):
            tmb.train(pairs, **{given: 1})
    with pytest.raises(tmb.errors.BackendError, match=r"got 'pytorhc'\. Did you mean torch\?"):
        canonical_name("pytorhc")


def test_of_many_wrong_shapes_three_are_named_and_the_rest_counted(fails, checkpoint):
    path = checkpoint / "config.json"
    content = json.loads(path.read_text())
    content["config"]["num_hiddens"] = 64
    path.write_text(json.dumps(content))
    message = fails("translate", checkpoint)
    assert message.count("must have shape") == 3 and len(message) < 600
    assert int(message.rsplit("; and ", 1)[1].removesuffix(" more of another shape.")) > 5


def test_a_resume_is_checked_before_anything_is_said(cli, checkpoint):
    for option in (("--seed", 7), ("--batch-size", 32), ("--early-stopping", 2)):
        outcome = cli("train", "--resume", "--out", checkpoint, *option)
        assert outcome.status == 2 and outcome.out == "" and outcome.err.startswith("Error: ")


def test_a_resume_that_trains_nothing_reports_the_training_that_was(cli, checkpoint, tmp_path):
    outcome = cli("train", "--resume", "--out", checkpoint, "--backend", "torch", "--json", tmp_path / "run.json")
    found = json.loads((tmp_path / "run.json").read_text())
    assert outcome.status == 0 and (found["backend"], found["tokens_per_second"]) == ("numpy", None)


def test_options_without_effect_are_named(cli, data, tmp_path):
    def notes(text: str) -> list[str]:
        (tmp_path / "run.toml").write_text(f"[training]\n{text}")
        outcome = cli(
            "train", tmp_path / "run.toml", "--data", data, "--out", tmp_path / "model", "--force", *FLAGS, "--epochs", 1
        )
        assert outcome.status == 0
        return [line for line in outcome.out.splitlines() if line.startswith("note: ")]

    assert notes("momentum = 0.5") == ["note: momentum has no effect with adam"]
    assert notes("optimizer = 'sgd'\nbetas = [0.5, 0.9]\nmomentum = 0.5") == ["note: betas has no effect with sgd"]


def test_the_best_epoch_has_its_line(capsys):
    lines = Lines(60)
    for epoch, loss in enumerate((5, 4, 3, 2, 1, 2, 3, 4, 5, 6), start=1):
        lines.epoch(EpochRecord(epoch, 1.0, 10, 1.0, float(loss)))
    told = [line.split("/")[0] for line in capsys.readouterr().err.splitlines()]
    assert told == ["epoch 1", "epoch 3", "epoch 5", "epoch 6", "epoch 9"]
