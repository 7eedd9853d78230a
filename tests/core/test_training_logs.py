"""What a training tells programs and people while it runs: JSON lines, TensorBoard, a bar."""

import json
import pty
import subprocess
import sys
import termios
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

import trainings
import transformer_mb as tmb
from trainings import TINY, TRAINED_ON, UNSEEN, InterruptAt
from transformer_mb.errors import ConfigError
from transformer_mb.training import EpochRecord, TrainingInterrupted, logs, printed_progress
from transformer_mb.training.logs import LogPlaces
from transformer_mb.training.printed_progress import Lines


def train(*arguments, **options):
    given = {"schedule": "linear", "warmup_steps": 3, "epochs": 4, "learning_rate": 0.02, **options}
    return trainings.train(*arguments, **{"validation": UNSEEN, **given})


def told(**options):
    return trainings.train(validation=UNSEEN, verbose=True, learning_rate=0.02, **options)


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def without_speed(path) -> list[dict]:
    others = ("tokens_per_second", "training")  # of which the latter, the training's id, differs by its folder
    return [{name: value for name, value in line.items() if name not in others} for line in lines(path)]


def test_each_line_is_a_reading_or_a_validation(tmp_path):
    trained = train(log=tmp_path / "logs" / "run.jsonl", validation_lines=3)
    readings = [line for line in lines(tmp_path / "logs" / "run.jsonl") if "loss" in line]
    assert [(line["step"], line["epoch"]) for line in readings] == [(3, 1), (6, 2), (9, 3), (12, 4)]
    assert [line["loss"] for line in readings] == pytest.approx([record.loss for record in trained.history])
    assert [line["learning_rate"] for line in readings] == pytest.approx([0.02 * left / 10 for left in (10, 7, 4, 1)])
    assert all(line["tokens_per_second"] > 0 for line in readings)
    measured = [line for line in lines(tmp_path / "logs" / "run.jsonl") if "validation_loss" in line]
    for line, record in zip(measured, trained.validations, strict=True):
        assert line == {
            "step": record.step, "epoch": record.epoch, "validation_loss": record.validation_loss,
            "validation_perplexity": record.perplexity, "validation_bleu": record.bleu, "validation_chrf": record.chrf,
        }  # fmt: skip


def test_a_long_epoch_is_read_every_32_steps(tmp_path):
    train(log=tmp_path / "run.jsonl", batch_size=1, epochs=2, validation=None)
    assert [line["step"] for line in lines(tmp_path / "run.jsonl")] == [24, 48]
    tmb.train(TRAINED_ON * 2, log=tmp_path / "long.jsonl", **{**TINY, "batch_size": 1}, epochs=1)
    assert [line["step"] for line in lines(tmp_path / "long.jsonl")] == [32, 48]


def test_a_resumed_log_is_that_of_the_whole_without_duplicates(tmp_path):
    train(tmp_path / "whole", log=tmp_path / "whole.jsonl", save_every_steps=2)
    log = tmp_path / "parts.jsonl"
    with pytest.raises(TrainingInterrupted):
        train(tmp_path / "parts", log=log, save_every_steps=2, progress=InterruptAt(8))
    # As a kill after that leaves it: lines past the checkpoint, the last of them cut off.
    log.write_text(log.read_text() + '{"step": 9, "epoch": 3, "loss": 1.0}\n{"step": 10, "epo')
    train(tmp_path / "parts", resume="auto")  # which says no more of logs and pauses, and goes on with both
    assert without_speed(log) == without_speed(tmp_path / "whole.jsonl")


def test_a_log_is_not_replaced_unless_forced(fails, cli, settings_file, tmp_path):
    log = tmp_path / "mine.jsonl"
    log.write_text("mine")
    command = ("train", settings_file, "--epochs", 1, "--out", tmp_path / "model", "--log", log)
    assert "must be a new file, but there is one already" in fails(*command) and log.read_text() == "mine"
    assert "lies inside" in fails(*command[:-1], tmp_path / "model" / "run.jsonl")
    assert "lies inside" in fails(*command[:-2], "--tensorboard", tmp_path / "model" / "runs")
    assert not (tmp_path / "model").exists()
    assert cli(*command, "--force").status == 0 and [line["step"] for line in lines(log)] == [3]


def scalars(folder) -> dict[str, list[tuple]]:
    """As TensorBoard's own reader sees them, in a process of its own since it imports TensorFlow where that is there."""
    program = f"""
import json
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator({str(folder)!r}).Reload()
tags = events.Tags()["scalars"]
print(json.dumps({{tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in tags}}))
"""
    code = "import sys, types; sys.modules['tensorboard.compat.notf'] = types.ModuleType('notf')\n" + program
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_tensorboard_reads_the_figures_and_no_step_twice(tmp_path):
    folder = tmp_path / "runs"
    with pytest.raises(TrainingInterrupted):
        train(tmp_path / "model", tensorboard=folder, validation_lines=3, progress=InterruptAt(8))
    found = scalars(folder)
    assert [step for step, _ in found["loss"]] == [3, 6, 8]
    # A run that is resumed from an earlier step, as after a kill, outdoes what came after it.
    with logs.opened_logs(LogPlaces(tensorboard=str(folder)), 6) as (writer,):
        writer.write(7, 3, {"loss": 5.0})
    trained = train(tmp_path / "model", validation_lines=3, resume=True)
    found = scalars(folder)
    assert [step for step, _ in found["loss"]] == [3, 6, 7, 9, 12] and found["loss"][2][1] == 5.0
    for tag, name in (("validation/loss", "validation_loss"), ("validation/bleu", "bleu"), ("validation/chrf", "chrf")):
        expected = [(record.step, getattr(record, name)) for record in trained.validations]
        assert [step for step, _ in found[tag]] == [step for step, _ in expected] == [3, 6, 9, 12]
        assert [value for _, value in found[tag]] == pytest.approx([value for _, value in expected], rel=1e-6)
    assert {"learning_rate", "tokens_per_second", "epoch", "validation/perplexity"} <= set(found)


def test_writing_for_tensorboard_imports_no_framework(tmp_path):
    code = f"""
import sys
from transformer_mb.training.logs import opened_logs
from transformer_mb.training.named_places import LogPlaces
with opened_logs(LogPlaces(tensorboard={str(tmp_path)!r}), 0) as (writer,):
    writer.write(1, 1, {{"loss": 1.0}})
assert not {{"tensorflow", "torch", "jax"}} & set(sys.modules), sys.modules.keys()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_tensorboard_the_command_that_installs_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, logs.RECORD_WRITER, None)
    with pytest.raises(ConfigError, match="tensorboard needs the package of that name: pip install"):
        train(tensorboard=tmp_path / "runs")


def test_a_terminal_gets_a_bar_with_the_speed_and_the_time_left(monkeypatch, terminal):
    terminal = terminal()
    monkeypatch.setenv("COLUMNS", "160")
    trained = told(epochs=2)
    shown = terminal.getvalue()
    assert f"epoch 2/2  loss {trained.history[-1].loss:.4f}  {trained.validations[-1].in_words()}" in shown
    assert "tokens/s" in shown.split("saved")[0] and "━" in shown and "0:00:0" in shown


def all_shown(terminal):
    """Read a terminal until its other end is closed, as text comes: it holds a few thousand bytes at a time."""
    parts = []
    with open(terminal, "rb", buffering=0) as end, suppress(OSError):
        while part := end.read(4096):
            parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.parametrize("columns", [40, 59, 80, 100, 200])
def test_the_lines_of_all_epochs_stay_in_a_terminal_of_any_width(monkeypatch, columns):
    """They are never what the bar is drawn over: each is written once, after the bar's line was cleared."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    with ThreadPoolExecutor(1) as pool, open(theirs, "w") as terminal:
        reading = pool.submit(all_shown, ours)
        monkeypatch.setattr(sys, "stderr", terminal)
        trained = told(epochs=3)
        terminal.close()
        shown = reading.result()
    for record, measured in zip(trained.history, trained.validations, strict=True):
        (line,) = [row for row in shown.splitlines() if f"epoch {record.epoch}/3  loss {record.loss:.4f}  " in row]
        assert measured.in_words() in line and "\x1b[2K" in line.partition("epoch")[0]
    assert "0:00:0" in shown and "━" in shown and "…" not in shown


def test_a_pipe_gets_a_line_for_each_validation_within_epochs(capsys):
    told(epochs=2, validate_every_steps=2, validation_lines=2)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["step 2", "epoch 1/2", "step 4", "step 6", "epoch 2/2"]
    assert "perplexity" in lines[0] and "BLEU" in lines[0] and "chrF" in lines[0] and "validation" not in lines[1]


def test_lines_of_epochs_show_the_scores(capsys):
    told(epochs=1, validation_lines=2)
    assert ", BLEU " in capsys.readouterr().err
    assert printed_progress.LINES


def test_the_best_epoch_has_its_line(capsys):
    lines = Lines(60)
    for epoch, loss in enumerate((5, 4, 3, 2, 1, 2, 3, 4, 5, 6), start=1):
        lines.epoch(EpochRecord(epoch, 1.0, 10, 1.0, float(loss)))
    told = [line.split("/")[0] for line in capsys.readouterr().err.splitlines()]
    assert told == ["epoch 1", "epoch 3", "epoch 5", "epoch 6", "epoch 9"]
