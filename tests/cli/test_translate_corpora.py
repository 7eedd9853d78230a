"""``translate --data``: corpora in shards give what the same lines give in one stream, once each and in order."""

import gzip
import json
import os
import signal
import subprocess
import sys

import pytest

from parity.sweeps.commands import alive, family, finished, wait_until
from transformer_mb.corpora.progress import Progress, in_words

LONG = "he " * 40 + "."


@pytest.fixture
def corpus(tmp_path, pairs):
    """Two files, one of them gzipped, with an empty line, one with CR LF, and one that begins as bzip2's files do."""
    lines = [source for source, _ in pairs[:23]]
    lines[4:6], lines[10] = ["", "BZh .\r"], "BZh9 ."
    one, two = tmp_path / "one.txt", tmp_path / "two.txt.gz"
    one.write_text("".join(f"{line}\n" for line in lines[:12]), newline="")
    two.write_bytes(gzip.compress("\n".join(lines[12:]).encode()))
    return one, two, "\n".join(lines) + "\n"


def in_shards(trained, corpus, out, *more):
    return ["translate", trained, "--data", corpus[0], "--data", corpus[1], "--out", out, "--shard-lines", 5, *more]


def names(out):
    return {path.name: path.stat().st_mtime_ns for path in (out / "units").glob("*.json")}


@pytest.mark.parametrize("more", [(), ("--beam", 2, "--n-best", 2), ("--sample", "--seed", 3)], ids=["greedy", "beam", "drawn"])
def test_the_lines_of_all_files_in_order_as_one_stream_gives_them(more, cli, trained, corpus, tmp_path):
    """Numbers, and what is drawn by them, count on over shards and files."""
    out = tmp_path / "out"
    outcome = cli(*in_shards(trained, corpus, out, *more, "--batch-size", 1))
    assert outcome.status == 0 and "23 lines, 6 shards, 0 of them" in outcome.err and "tokens/s" in outcome.err
    assert [json.loads((out / "units" / name).read_text())["attempts"] for name in names(out)] == [1] * 6
    one = cli("translate", trained, *more, "--batch-size", 1, stdin=corpus[2])
    assert cli("translate", "--collect", out).out == one.out and len(one.out.splitlines()) >= 23


def test_only_what_is_missing_is_done_by_each_task_of_several(cli, trained, corpus, tmp_path):
    out = tmp_path / "out"
    assert cli(*in_shards(trained, corpus, out, "--shard", "2/3")).status == 0 and len(names(out)) == 2
    refused = cli("translate", "--collect", out, "--output", tmp_path / "all.txt")
    assert refused.status == 2 and "4 shards of" in refused.err and "lines 1 to 5, 11 to 12, 13 to 17, 23 to 23" in refused.err
    assert not (tmp_path / "all.txt").exists()
    before = names(out)
    for part in ("1/3", "3/3"):
        assert cli(*in_shards(trained, corpus, out, "--shard", part)).status == 0
    assert before.items() <= names(out).items() and len(names(out)) == 6
    assert cli("translate", "--collect", out, "--output", tmp_path / "all.txt").status == 0
    assert (tmp_path / "all.txt").read_text() == cli("translate", trained, stdin=corpus[2]).out
    damaged = out / "units" / min(names(out))
    damaged.write_text(damaged.read_text()[:-40])
    assert "must be whole: units/" in cli("translate", "--collect", out).err
    again = cli(*in_shards(trained, corpus, out))
    assert "6 shards, 5 of them" in again.err and cli("translate", "--collect", out).status == 0


def test_a_folder_holds_one_corpus_translated_in_one_way(cli, trained, checkpoint, corpus, tmp_path):
    out = tmp_path / "out"
    assert cli(*in_shards(trained, corpus, out)).status == 0
    assert "but" in (said := cli(*in_shards(trained, corpus, out, "--beam", 2)).err) and "has another: beam." in said
    assert cli(*in_shards(checkpoint, corpus, out)).err.endswith(f"23 lines, 6 shards, 6 of them in {out} already\n")
    config = checkpoint / "config.json"
    config.write_text(config.read_text() + "\n")
    assert "has another: model." in cli(*in_shards(checkpoint, corpus, out)).err
    corpus[0].write_text("go .\n" + corpus[0].read_text())
    assert "has another: lines of --data, or --shard-lines." in cli(*in_shards(trained, corpus, out)).err


def test_bad_and_long_lines_are_found_before_anything_is_translated_or_told_after(cli, trained, tmp_path):
    data, out = tmp_path / "data.txt", tmp_path / "out"
    data.write_bytes(b"go .\n" + LONG.encode() + b"\nd\xe9j\xe0\nhe runs .\n")
    command = ["translate", trained, "--data", data, "--out", out, "--shard-lines", 2]
    refused = cli(*command)
    assert refused.status == 2 and "line 3, byte" in refused.err and not out.exists()
    done = cli(*command, "--bad-lines", "drop")
    assert done.status == 0 and "1 line had more tokens than the model takes (--too-long cut)" in done.err
    assert "Note: lines that are no UTF-8 text: 1 dropped." in done.err
    assert cli("translate", "--collect", out).out.splitlines()[2] == ""
    stopped = cli("translate", trained, "--data", data, "--out", tmp_path / "b", "--bad-lines", "drop", "--too-long", "stop")
    assert stopped.status == 1 and "Line 2 must be at most 29 tokens long" in stopped.err


WRONG = {
    "translate MODEL --data FILE": "A corpus needs --data and --out, got --data",
    "translate MODEL --shard 1/2": "A corpus needs --data and --out, got --shard",
    "translate MODEL --data FILE --out DIR --input FILE": "--input must be of lines that are translated one after the other",
    "translate MODEL --data FILE --out DIR --shard 3/2": "--shard must be K/N, the K-th of N parts",
    "translate MODEL --data FILE --out DIR --address auto": "--address must come with --on ray",
    "translate MODEL --data FILE --out DIR --on slurm": "--on must be local or ray, got 'slurm'",
    "translate MODEL --on ray": "--on must come with --data and --out",
    "translate MODEL --data EMPTY --out DIR": "--data must hold lines, got none in",
    "translate MODEL --data DIR --out DIR": "must be regular files",
    "translate MODEL --collect DIR": "--collect must be given without a checkpoint folder",
    "translate --collect DIR": "which holds no shard",
    "translate --collect NONE": "which is no folder",
    "translate --collect DIR --out DIR": "--collect must come with --output and --force alone, got --out",
    "translate": "DIR...: a checkpoint folder was expected",
}


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_call_says_what_is_wrong(call, cli, trained, tmp_path):
    (tmp_path / "file").write_text("go .\n")
    (tmp_path / "empty").touch()
    places = {
        "MODEL": trained,
        "FILE": tmp_path / "file",
        "EMPTY": tmp_path / "empty",
        "DIR": tmp_path,
        "NONE": tmp_path / "no",
    }
    outcome = cli(*(places.get(word, word) for word in call.split()))
    assert outcome.status == 2 and WRONG[call] in " ".join(outcome.err.split()) and not (tmp_path / "units").exists()


def test_the_same_command_goes_on_after_kill_9(cli, trained, corpus, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "transformer_mb", *map(str, in_shards(trained, corpus, out))]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    wait_until(lambda: finished(out))
    everyone = family(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not alive(everyone), 10.0)
    before = names(out)
    assert cli(*in_shards(trained, corpus, out)).status == 0
    assert before.items() <= names(out).items() and len(names(out)) == 6
    assert cli("translate", "--collect", out).out == cli("translate", trained, stdin=corpus[2]).out


def test_progress_by_hand():
    """30 of 90 lines in 10 s leave 20 s, and another 30 in 50 s more leave half a minute."""
    times = iter((0.0, 10.0, 60.0))
    progress = Progress(90, lambda: next(times))
    answer = {"lines": 30, "tokens": 600, "long": 1, "unended": 0, "host": "a"}
    assert progress.told(answer) == "30 lines, 600 tokens on a; 60 tokens/s, 20 s left"
    assert progress.told(answer) == "30 lines, 600 tokens on a; 20 tokens/s, 30 s left" and progress.long == 2
    assert [in_words(seconds) for seconds in (59.0, 61.0, 3599.0, 5400.0)] == ["59 s", "1 min", "60 min", "1.5 h"]
