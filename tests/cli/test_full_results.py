"""A result that cannot be written, for a disk is full, keeps none of the others back, and hides nothing that was found."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from transformer_mb.cli.reporting import each_written, write_report

FULL = "No space left on device"


@pytest.fixture
def full_disk(small_disk):
    room = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(room.f_bavail * room.f_bsize))
    return small_disk


def test_scores_are_told_and_kept_where_the_translations_are_not(cli, trained, data, tmp_path):
    done = cli("evaluate", trained, "--data", data, "--output", "/dev/full", "--json", tmp_path / "scores.json")
    assert done.status == 2 and done.err.endswith(f"Error: /dev/full: {FULL}.\n")
    assert "BLEU" in done.out and "exact match" in done.out
    assert json.loads((tmp_path / "scores.json").read_text())["bleu"]


def test_each_file_that_is_not_written_is_named(cli, trained, data, full_disk):
    files = full_disk / "texts", full_disk / "scores.json"
    done = cli("evaluate", trained, "--data", data, "--output", files[0], "--json", files[1])
    assert done.status == 2 and "BLEU" in done.out
    assert [line for line in done.err.splitlines() if "Error" in line] == [f"Error: {file}: {FULL}." for file in files]


def test_a_training_whose_curve_is_not_drawn_says_what_came_of_it(cli, settings_file, tmp_path, full_disk):
    curve, results = full_disk / "curve.svg", tmp_path / "results.json"
    files = ("--out", tmp_path / "model", "--loss-curve", curve, "--json", results)
    done = cli("train", settings_file, "--epochs", 2, *files)
    assert done.status == 2 and f"Error: {curve}: {FULL}." in done.err
    assert f"saved in {tmp_path / 'model'}" in done.out
    assert json.loads(results.read_text())["epoch"] == 2 and os.listdir(full_disk) == ["ballast"]


def test_an_interrupted_training_whose_curve_is_not_drawn_says_how_it_goes_on(settings_file, tmp_path, full_disk):
    folder, curve = tmp_path / "model", full_disk / "curve.svg"
    options = ["--epochs", "100000", "--out", folder, "--loss-curve", curve]
    command = [sys.executable, "-m", "transformer_mb", "train", settings_file, *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr.readline().startswith("epoch 1/100000")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143
    assert f"Error: {curve}: {FULL}.\n" in err
    assert err.endswith(f"Continue with: transformer-mb train --out {folder} --resume\n")


def test_the_page_for_people_is_written_where_that_for_programs_is_not(tmp_path):
    with pytest.raises(OSError, match=FULL) as error:
        write_report(Path("/dev/full"), {"found": 1}, tmp_path / "page.md", lambda: "found 1")
    assert str(error.value.filename) == "/dev/full" and (tmp_path / "page.md").read_text() == "found 1"


def test_what_ends_the_work_itself_comes_before_what_was_not_written(capfd):
    with pytest.raises(KeyboardInterrupt), each_written() as attempt:
        attempt(Path("/no/such/folder/file").read_text)
        raise KeyboardInterrupt
    assert capfd.readouterr().err == "Error: /no/such/folder/file: No such file or directory.\n"
