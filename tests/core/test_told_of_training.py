"""`train` explains the figures that it shows: by what a loss is a mean, that steps are compiled, how little was learned."""

import io
import json
import math
import re
import sys

import pytest

import transformer_mb as tmb
from transformer_mb.data import demo_pairs

TRAINED_ON, UNSEEN = demo_pairs()[0][:24], demo_pairs()[0][20:30]
TINY = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "batch_size": 8, "learning_rate": 0.02}
HINT = r"Note: the perplexity of training is (\d+) after (\d+) steps: translations are poor, .*\(--resume with more (\w+)\)\."


@pytest.fixture
def train(cli, tmp_path):
    """A function: the command's run on a few pairs, and what its log and its results hold."""
    for name, pairs in (("pairs.tsv", TRAINED_ON), ("unseen.tsv", UNSEEN)):
        (tmp_path / name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs))

    def run(*options, unseen=False):
        files = (
            "--data",
            tmp_path / "pairs.tsv",
            "--out",
            tmp_path / "m",
            "--json",
            tmp_path / "r.json",
            "--log",
            tmp_path / "log",
        )
        sizes = [word for name, value in TINY.items() for word in (f"--{name.replace('_', '-')}", value)]
        done = cli("train", *files, *sizes, *options, *(("--validation", tmp_path / "unseen.tsv") if unseen else ()))
        assert done.status == 0, done.err
        log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
        return done, log, json.loads((tmp_path / "r.json").read_text())

    return run


def test_a_loss_by_steps_beside_one_by_tokens_says_so_wherever_both_stand(train):
    """D2L's mean is a tenth of the other here, so that 0.4 beside 4.0 would look like a model that fits its pairs too well."""
    done, log, results = train("--normalization", "steps", "--num-steps", 10, "--epochs", 2, unseen=True)
    for record in results["history"]:
        own, measured = f"loss by steps {record['loss']:.4f}", f"validation loss by tokens {record['validation_loss']:.4f}"
        assert f"epoch {record['epoch']}/2  {own}  {measured}, perplexity" in done.err
        assert record["validation_loss"] > 3 * record["loss"]
        assert record["perplexity"] == pytest.approx(math.exp(record["validation_loss"]))
    assert f"\n{own}, " in done.out and f"best {measured}, perplexity " in done.out
    assert not re.search(r"loss \d", done.out + done.err)
    assert log[0]["loss_by"] == "steps"
    for name in ("loss", "validation_loss"):
        assert [line[name] for line in log if name in line] == pytest.approx([record[name] for record in results["history"]])


def test_where_all_losses_are_by_tokens_none_needs_a_label(train):
    done, log, _ = train("--epochs", 1, unseen=True)
    assert re.search(r"epoch 1/1  loss \d.*  validation loss \d", done.err) and "by tokens" not in done.err + done.out
    assert log[0]["loss_by"] == "tokens"


@pytest.mark.parametrize(
    ("options", "length", "width"),
    [
        (["--epochs", 2], "epochs", 1),
        (["--max-steps", 4], "max_steps", 1),
        (["--epochs", 2, "--normalization", "steps", "--num-steps", 10], "epochs", 10),
    ],
)
def test_a_model_that_has_learned_little_is_said_to_be_one(train, options, length, width):
    """By the perplexity of training per token, whatever its loss is a mean over."""
    done, _, results = train(*options)
    (said,) = re.findall(HINT, done.err)
    expected = math.exp(width * results["history"][-1]["loss"])
    assert said == (f"{expected:.0f}", str(results["step"]), length) and expected > 20


def test_a_model_that_has_learned_its_pairs_hears_of_no_training(train):
    done, _, results = train("--epochs", 60, "--dropout", 0)
    assert results["history"][-1]["loss"] < math.log(20) and "Note" not in done.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("compiles", "opening"), [(True, "compiling"), (False, "first steps")])
def test_that_the_first_steps_are_compiled_is_said_before_and_at_the_bar(monkeypatch, capsys, compiles, opening):
    """The first step of a framework that compiles may take most of a minute, in which nothing else moves."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(tmb.get_backend("numpy").trainer_class, "always_compiles", compiles)
    tmb.train(TRAINED_ON, epochs=1, backend="numpy", verbose=True, **TINY)
    assert opening in terminal.getvalue().partition("epoch 1/1")[0]
    said = "note: numpy compiles for each new shape of batch: the first steps take far longer\n"
    assert (said in capsys.readouterr().out) == compiles
