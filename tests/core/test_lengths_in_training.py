"""Sentences that are too long for a training's batches are named by file and line, and can be dropped."""

import pytest

import transformer_mb as tmb
from transformer_mb.data import Batches
from transformer_mb.errors import DataError

SMALL = {"num_hiddens": 8, "ffn_num_hiddens": 8, "num_layers": 1, "num_heads": 2, "epochs": 1, "backend": "numpy"}


@pytest.fixture
def files(tmp_path):
    """100 pairs of two words; one of 60 words, in line 3 of the validation, after a blank line."""
    (tmp_path / "train.tsv").write_text("go on\tva toujours\n" * 100)
    (tmp_path / "valid.tsv").write_text(f"go on\tva\n\ngo on\t{'va ' * 60}\n")
    return tmp_path


def train(files, data="train.tsv", **options):
    return tmb.train(files / data, **{**SMALL, "validation": files / "valid.tsv", **options})


def test_a_long_sentence_of_the_validation_is_named_by_its_file_and_line(files):
    with pytest.raises(DataError) as caught:
        train(files, batch_tokens=50)
    long = "line 3: the target must be at most 50 tokens long (<eos> counted, batch_tokens), but it has 61; 1 of 2 pairs is"
    remedies = "a larger batch_tokens, num_steps (--num-steps 50), which cuts them, or bad_lines drop (--bad-lines drop)"
    assert str(caught.value) == f"{files / 'valid.tsv'}, {long} too long. Remedies: {remedies}, which leaves them out."
    for taken in ({"batch_tokens": 61}, {"batch_tokens": 50, "bad_lines": "drop"}, {"batch_tokens": 50, "num_steps": 20}):
        assert train(files, **taken).validations  # 61 tokens are 61, though their bucket is 64 wide


def test_a_long_sentence_of_the_training_is_named_likewise_or_dropped(files):
    (files / "valid.tsv").rename(files / "long.tsv")
    (files / "valid.tsv").write_text("go on\tva\n")
    with pytest.raises(DataError, match=r"long\.tsv, line 3: the target must be at most 50 tokens long .*batch_tokens"):
        train(files, "long.tsv", batch_tokens=50)
    with pytest.raises(DataError, match=r"long\.tsv, line 3: the target must be at most 20 tokens long .*max_len"):
        train(files, "long.tsv", max_len=20)
    assert train(files, "long.tsv", batch_tokens=50, bad_lines="drop").corpus.too_long == 1


def test_pairs_and_parallel_files_are_named_too(files):
    with pytest.raises(DataError, match="The validation pair 2: the source must be at most 20"):
        tmb.train([("go on", "va")], **SMALL, validation=[("go on", "va"), ("go " * 30, "va")], batch_tokens=20)
    (files / "a.en").write_text("go on\n" * 5)
    (files / "a.fr").write_text("va\n" * 4 + "va " * 30)
    with pytest.raises(DataError, match=r"a\.fr, line 5: the target must be at most 20"):
        tmb.train(files / "a.en", target=files / "a.fr", **SMALL, batch_tokens=20)


def test_no_batch_is_wider_than_its_tokens():
    pairs = [([4] * count, [4] * count) for count in (3, 9, 60, 61)]
    batches = Batches(pairs, batch_tokens=62)
    assert sorted(batches.shapes)[-1] == (1, 62) and batches.num_pairs == 4


def test_a_validation_on_the_training_pairs_is_said(files, capsys):
    train(files, validation=files / "train.tsv", verbose=True)
    assert "note: the validation measures the pairs that are trained on" in capsys.readouterr().out
    train(files, verbose=True, batch_tokens=50, bad_lines="drop")
    out = capsys.readouterr().out
    assert "trained on" not in out and "note: validation pairs longer than batch_tokens: 1 dropped from its loss" in out
