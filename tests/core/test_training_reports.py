"""Messages of a training: losses, logs on a full disk, sentences that are too long, and numbers in words."""

import json
import math
import re

import pytest

import trainings
import transformer_mb as tmb
from trainings import TINY, TRAINED_ON, UNSEEN
from transformer_mb.data import Batches
from transformer_mb.errors import DataError
from transformer_mb.printable import counted, skipped_lines
from transformer_mb.training import Progress

HINT = r"Note: the perplexity of training is (\d+) after (\d+) steps: translations are poor, .*\(--resume with more (\w+)\)\."


@pytest.fixture
def train(cli, tmp_path):
    """A function: the command's run on a few pairs, and what its log and its results hold."""
    for name, pairs in (("pairs.tsv", TRAINED_ON), ("unseen.tsv", UNSEEN)):
        (tmp_path / name).write_text("".join(f"{source}\t{target}\n" for source, target in pairs))

    def run(*options, unseen=False):
        files = {"--data": "pairs.tsv", "--out": "m", "--json": "r.json", "--log": "log"}
        files = [word for flag, name in files.items() for word in (flag, tmp_path / name)]
        sizes = [
            word for name, value in {**TINY, "learning_rate": 0.02}.items() for word in (f"--{name.replace('_', '-')}", value)
        ]
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


@pytest.mark.parametrize(("compiles", "opening"), [(True, "compiling"), (False, "first steps")])
def test_that_the_first_steps_are_compiled_is_said_before_and_at_the_bar(monkeypatch, terminal, capsys, compiles, opening):
    """The first step of a framework that compiles may take most of a minute, in which nothing else moves."""
    terminal = terminal()
    monkeypatch.setattr(tmb.get_backend("numpy").trainer_class, "always_compiles", compiles)
    trainings.train(epochs=1, verbose=True, learning_rate=0.02)
    assert opening in terminal.getvalue().partition("epoch 1/1")[0]
    said = "note: numpy compiles for each new shape of batch: the first steps take far longer\n"
    assert (said in capsys.readouterr().out) == compiles


# A log that cannot be written to any more ends with a warning; the training goes on, and is saved.

SMALL = {**TINY, "batch_size": 2}


class Fills(Progress):
    """Takes all that is left of a disk once the first epoch is over."""

    def __init__(self, disk):
        self.disk, self.sentences = disk, []

    def epoch(self, record):
        with (self.disk / "rest").open("wb", buffering=0) as rest:
            try:
                while rest.write(bytes(4096)):
                    pass
            except OSError:
                pass

    def warned(self, sentence):
        self.sentences.append(sentence)


@pytest.mark.parametrize("kind", ["log", "tensorboard"])
def test_a_disk_that_is_full_ends_the_log_and_not_the_training(small_disk, tmp_path, kind):
    place, progress = small_disk / "log", Fills(small_disk)
    epochs = 60  # whose log is longer than what is left of its last page
    trained = tmb.train(TRAINED_ON, tmp_path / "model", epochs=epochs, progress=progress, **SMALL, **{kind: place})
    assert trained.state.epoch == epochs and tmb.load(tmp_path / "model", "numpy")
    (sentence,) = progress.sentences
    assert str(place) in sentence and "No space left on device. The training goes on without it." in sentence
    if kind == "log":
        whole = [json.loads(line) for line in place.read_text().splitlines(keepends=True) if line.endswith("\n")]
        assert 12 <= len(whole) < 12 * epochs


@pytest.mark.parametrize("kind", ["log", "tensorboard"])
def test_a_disk_that_is_full_from_the_start_ends_it_likewise(small_disk, tmp_path, kind):
    progress = Fills(small_disk)
    progress.epoch(None)
    trained = tmb.train(TRAINED_ON[:8], tmp_path / "model", epochs=1, progress=progress, **SMALL, **{kind: small_disk / "log"})
    assert trained.state.epoch == 1 and tmb.load(tmp_path / "model", "numpy")
    (sentence,) = progress.sentences
    assert str(small_disk / "log") in sentence and "The training goes on without it." in sentence


def test_in_python_it_is_a_warning():
    with pytest.warns(UserWarning, match="cannot be written"):
        Progress().warned("run.jsonl cannot be written to any more")


# Sentences that are too long for a training's batches are named by file and line, and can be dropped.

ONE_EPOCH = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "epochs": 1, "backend": "numpy"}


@pytest.fixture
def corpora(tmp_path):
    """100 pairs of two words; one of 60 words, in line 3 of the validation, after a blank line."""
    (tmp_path / "train.tsv").write_text("go on\tva toujours\n" * 100)
    (tmp_path / "valid.tsv").write_text(f"go on\tva\n\ngo on\t{'va ' * 60}\n")
    return tmp_path


def train_on(corpora, data="train.tsv", **options):
    return tmb.train(corpora / data, **{**ONE_EPOCH, "validation": corpora / "valid.tsv", **options})


def test_a_long_sentence_of_the_validation_is_named_by_its_file_and_line(corpora):
    with pytest.raises(DataError) as caught:
        train_on(corpora, batch_tokens=50)
    long = "line 3: the target must be at most 50 tokens long (<eos> counted, batch_tokens), but it has 61; 1 of 2 pairs is"
    remedies = "a larger batch_tokens, num_steps (--num-steps 50), which cuts them, or bad_lines drop (--bad-lines drop)"
    assert str(caught.value) == f"{corpora / 'valid.tsv'}, {long} too long. Remedies: {remedies}, which leaves them out."
    for taken in ({"batch_tokens": 61}, {"batch_tokens": 50, "bad_lines": "drop"}, {"batch_tokens": 50, "num_steps": 20}):
        assert train_on(corpora, **taken).validations  # 61 tokens are 61, though their bucket is 64 wide


def test_a_long_sentence_of_the_training_is_named_likewise_or_dropped(corpora):
    (corpora / "valid.tsv").rename(corpora / "long.tsv")
    (corpora / "valid.tsv").write_text("go on\tva\n")
    with pytest.raises(DataError, match=r"long\.tsv, line 3: the target must be at most 50 tokens long .*batch_tokens"):
        train_on(corpora, "long.tsv", batch_tokens=50)
    with pytest.raises(DataError, match=r"long\.tsv, line 3: the target must be at most 20 tokens long .*max_len"):
        train_on(corpora, "long.tsv", max_len=20)
    assert train_on(corpora, "long.tsv", batch_tokens=50, bad_lines="drop").corpus.too_long == 1


def test_pairs_and_parallel_files_are_named_too(corpora):
    with pytest.raises(DataError, match="The validation pair 2: the source must be at most 20"):
        tmb.train([("go on", "va")], **ONE_EPOCH, validation=[("go on", "va"), ("go " * 30, "va")], batch_tokens=20)
    (corpora / "a.en").write_text("go on\n" * 5)
    (corpora / "a.fr").write_text("va\n" * 4 + "va " * 30)
    with pytest.raises(DataError, match=r"a\.fr, line 5: the target must be at most 20"):
        tmb.train(corpora / "a.en", target=corpora / "a.fr", **ONE_EPOCH, batch_tokens=20)


def test_no_batch_is_wider_than_its_tokens():
    pairs = [([4] * count, [4] * count) for count in (3, 9, 60, 61)]
    batches = Batches(pairs, batch_tokens=62)
    assert sorted(batches.shapes)[-1] == (1, 62) and batches.num_pairs == 4


def test_a_validation_on_the_training_pairs_is_said(corpora, capsys):
    train_on(corpora, validation=corpora / "train.tsv", verbose=True)
    assert "note: the validation measures the pairs that are trained on" in capsys.readouterr().out
    train_on(corpora, verbose=True, batch_tokens=50, bad_lines="drop")
    out = capsys.readouterr().out
    assert "trained on" not in out and "note: validation pairs longer than batch_tokens: 1 dropped from its loss" in out


# Numbers of things in words.


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 pairs"), (1, "1 pair"), (2, "2 pairs"), (1_000, "1,000 pairs"), (1_001, "1,001 pairs")]
)
def test_one_of_a_thing_is_singular(number, words):
    assert counted(number, "pair") == words


def test_a_verb_follows_its_number():
    assert [counted(number, "differs", "differ") for number in (0, 1, 2)] == ["0 differ", "1 differs", "2 differ"]
    assert skipped_lines(1) == "1 line with a blank side was skipped"
    assert skipped_lines(2) == "2 lines with a blank side were skipped"


def test_a_training_on_one_pair_says_so(capsys):
    tmb.train([("a", "b")], epochs=1, num_hiddens=8, num_heads=2, num_layers=1, backend="numpy", verbose=True)
    told = capsys.readouterr().out
    assert told.startswith("1 pair; ") and "0.0% of 1 word unknown" in told and "training 1 epoch with" in told
