"""What commands say: in the words of the command line, of what is there, and no more than can be read."""

import pytest

from transformer_mb.registry import VARIABLE


def test_a_command_names_its_own_options(fails, trained, data, tmp_path):
    message = fails("train", "--data", data, "--out", trained)
    assert "resume=True (--resume) continues it, force=True (--force) replaces it." in message
    lines = tmp_path / "pairs.jsonl"
    lines.write_text('{"a": "go .", "b": "va !"}\n')
    assert "--fields" in fails("train", "--data", lines, "--out", tmp_path / "model")


def test_a_tokenizer_that_is_not_there_is_named(fails, data, tmp_path):
    message = fails("train", "--data", data, "--out", tmp_path / "model", "--tokenizer", tmp_path / "nowhere")
    assert message == f"Error: The tokenizer must be a file or a folder, but there is no {tmp_path / 'nowhere'}."


def test_a_pattern_without_a_probe_names_a_few_that_are_near(fails):
    message = fails("compare", "behaviours", "--only", "softmax of nothng")
    assert "which none of the" in message and "docs/BEHAVIOURS.md" in message and len(message) < 400


def test_a_file_without_facts_to_compare_is_said_to_be_none(fails, data, tmp_path):
    message = fails("compare", "behaviours", "--only", "*", "--against", data)
    assert f"{data} must be what `compare behaviours --json` writes, got no JSON: " in message and "Error" not in message[6:]
    other = tmp_path / "other.json"
    other.write_text("{}")
    message = fails("compare", "behaviours", "--against", other)
    assert "got other JSON, in which this is missing or wrong: 'behaviours'." in message


def test_a_backend_from_the_environment_says_so(fails, monkeypatch):
    monkeypatch.setenv(VARIABLE, "foo")
    assert "got 'foo' from the environment variable TRANSFORMER_MB_BACKEND." in fails("demo")
    assert VARIABLE not in fails("demo", "--backend", "foo")


def test_a_line_that_is_no_utf8_can_be_dropped(fails, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"go .\tva !\nd\xe9j\xe0\tvu\n")
    assert "(--bad-lines drop) leaves such lines out." in fails("train", "--data", path, "--out", tmp_path / "model")


def test_the_help_writes_values_as_they_are_given(cli):
    text = " ".join(cli("train", "--help").out.split())
    for words in ("adam, adamw or sgd.", "loss, bleu or chrf:"):
        assert words in text


@pytest.mark.parametrize("place", ["file", "/proc/logs"])
def test_a_folder_for_tensorboard_is_tried_before_the_work(cli, data, tmp_path, place):
    (tmp_path / "file").write_text("")
    outcome = cli("train", "--data", data, "--out", tmp_path / "model", "--tensorboard", tmp_path / place)
    assert outcome.status == 2 and "must be a folder that may be written to" in outcome.err
    assert "training" not in outcome.out and not (tmp_path / "model").exists()
