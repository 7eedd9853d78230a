"""Trainings that are ended from outside and continue, bit for bit: by a signal, and by ``kill -9`` at random moments."""

import json
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import transformer_mb as tmb
from trainings import TINY, InterruptAt, files
from transformer_mb.built_in import BUILT_IN
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.data import demo_pairs
from transformer_mb.training import EpochRecord, TrainingInterrupted, interruption
from transformer_mb.training.interruption import ENDINGS, Interruption
from transformer_mb.training.printed_progress import Lines

FLAGS = (
    "--num-hiddens 8 --ffn-num-hiddens 12 --num-layers 1 --num-heads 2 --batch-size 8 --num-steps 8 --learning-rate 0.01 "
    "--schedule linear --warmup-steps 5 --dropout 0.2 --save-every-steps 3 --validate-every-steps 7 --keep-best 2"
)
WITHOUT_CHANCE = FLAGS.replace("dropout 0.2", "dropout 0").replace("schedule linear --warmup-steps 5", "schedule constant")
STARTS = 1.0  # seconds, in which a process takes its first steps at best
SIZES = ("--num-hiddens", 8, "--ffn-num-hiddens", 8, "--num-layers", 1, "--num-heads", 2, "--batch-size", 8)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name, pairs in (("pairs.tsv", demo_pairs()[0][:40]), ("unseen.tsv", demo_pairs()[1][:8])):
        (folder / name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return folder


def command(corpora, out, *more, flags=FLAGS):
    data = ("--data", corpora / "pairs.tsv", "--validation", corpora / "unseen.tsv", "--out", out, "--log", f"{out}.jsonl")
    return [sys.executable, "-m", "transformer_mb", "train", *map(str, (*data, *flags.split(), *more))]


def done(arguments):
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def reached(folder) -> int:
    try:
        return json.loads((folder / "trainer.json").read_text())["step"]
    except FileNotFoundError:  # before the first checkpoint
        return 0


def killed_at(arguments, folder, target, delay) -> bool:
    """Whether the process was killed before it had ended: ``delay`` seconds after a checkpoint of step ``target`` is there."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None and reached(folder) < target:
            time.sleep(0.002)
        time.sleep(delay)
    finally:
        process.kill()
    return process.wait() == -signal.SIGKILL


def survives(corpora, folder, backend, kills, steps, generator):
    """``steps`` in all, five an epoch."""
    more = ("--backend", backend, "--epochs", steps // 5)
    done(command(corpora, folder / "whole", *more))
    parts, killed = folder / "parts", 0
    arguments = command(corpora, parts, *more, "--resume", "auto")
    for _ in range(kills):
        if generator.random() < 0.2:  # amid the start
            target, delay = 0, generator.uniform(0.0, STARTS)
        else:
            target = reached(parts) + generator.randint(1, steps // (kills + 1))
            delay = generator.uniform(0.0, 0.02)
        killed += killed_at(arguments, parts, target, delay)
        assert reached(parts) < steps, "a training that has ended cannot be killed"
    assert killed == kills
    assert "continuing epoch" in done(arguments)
    for name in sorted(path.name for path in (folder / "whole").iterdir() if path.name != "trainer.json"):
        assert (parts / name).read_bytes() == (folder / "whole" / name).read_bytes(), name
    assert sorted(path.name for path in parts.iterdir()) == sorted(path.name for path in (folder / "whole").iterdir())
    one, other = (read_checkpoint(place).trainer for place in (folder / "whole", parts))
    assert one["validations"] == other["validations"] and len(one["validations"]) == -(-steps // 7)
    assert [row["loss"] for row in one["history"]] == [row["loss"] for row in other["history"]]
    logs = [(folder / f"{place}.jsonl").read_text().splitlines() for place in ("whole", "parts")]
    assert [json.loads(line)["step"] for line in logs[0]] == [json.loads(line)["step"] for line in logs[1]]


@pytest.mark.long
def test_three_kills_of_numpy_change_nothing(corpora, tmp_path):
    survives(corpora, tmp_path, "numpy", 3, 400, random.Random(0))


@pytest.mark.long
@pytest.mark.parametrize("backend", BUILT_IN)
def test_twenty_kills_change_nothing(backend, corpora, tmp_path):
    survives(corpora, tmp_path, backend, 20, 1500, random.Random(backend))


@pytest.mark.long
def test_a_training_goes_on_in_another_framework(corpora, tmp_path):
    """From NumPy to torch, without dropout, which each framework draws in its own way."""

    def train(out, *more):
        return done(command(corpora, tmp_path / out, "--dtype", "float64", *more, flags=WITHOUT_CHANCE))

    train("whole", "--backend", "numpy", "--epochs", 4)
    train("parts", "--backend", "numpy", "--epochs", 2)
    told = train("parts", "--resume", "--backend", "torch", "--epochs", 4)
    assert "continuing epoch 3 of 4 with torch, cpu, float64, which began with backend numpy" in told
    whole, parts = read_checkpoint(tmp_path / "whole"), read_checkpoint(tmp_path / "parts")
    assert parts.trainer["data"]["run"]["backend"] == "torch" and parts.trainer["step"] == whole.trainer["step"] == 20
    for one, other in ((whole.weights, parts.weights), (whole.optimizer, parts.optimizer)):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_allclose(other[name], one[name], rtol=1e-8, atol=1e-10, err_msg=name)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_training_that_is_ended_from_outside_is_saved_to_the_step(cli, data, tmp_path, number, status):
    parts, whole = tmp_path / "parts", tmp_path / "whole"
    train = ("train", "--data", data, *SIZES, "--backend", "numpy")
    command = [sys.executable, "-m", "transformer_mb", *map(str, train), "--epochs", "100000", "--out", str(parts)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr.readline().startswith("epoch 1/100000")
    for _ in range(1 if number == signal.SIGINT else 2):  # ``timeout`` and shells tell it twice
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == status and "Traceback" not in err
    assert "Interrupted: this step is finished and saved first" in err
    assert err.endswith(f"in {parts} continues exactly there. Continue with: transformer-mb train --out {parts} --resume\n")
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
    tried = []

    class Gone:
        def write(self, text):
            tried.append(text)
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(sys, "stderr", Gone())
    lines = Lines(3)
    lines.interrupted()
    lines.epoch(EpochRecord(1, 1.0, 10, 1.0))
    assert tried
