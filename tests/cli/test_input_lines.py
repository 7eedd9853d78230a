"""Lines to translate that are too long, no UTF-8 or begin with a byte order mark: no other line is lost."""

import json

LONG = "he " * 40 + "."
BOM = "\ufeff"


def test_a_long_line_loses_no_other(cli, trained, lines, translator):
    outcome = cli("translate", trained, stdin="\n".join([*lines[:3], LONG, *lines[3:]]) + "\n")
    cut = translator.translate(" ".join(LONG.split()[:29]))
    assert outcome.status == 0
    assert outcome.out.splitlines() == [*translator.translate(lines[:3]), cut, *translator.translate(lines[3:])]
    assert outcome.err == "Warning: Line 4 has 41 tokens and the model takes 29: only the first 29 were translated.\n"


def test_a_long_line_can_be_skipped_or_end_the_run_after_the_lines_before_it(cli, trained, lines, translator):
    text = "\n".join([*lines[:3], LONG, *lines[3:]]) + "\n"
    skipped = cli("translate", trained, "--too-long", "skip", stdin=text)
    assert skipped.status == 0 and skipped.out.splitlines()[3] == "" and len(skipped.out.splitlines()) == 7
    assert "Line 4 has 41 tokens" in skipped.err and "its output is an empty line" in skipped.err
    stopped = cli("translate", trained, "--too-long", "stop", stdin=text)
    assert stopped.status == 2 and stopped.out.splitlines() == translator.translate(lines[:3])
    assert "Line 4 must be at most 29 tokens long (max_len = 30, <eos> counted), but it has 41" in stopped.err


def test_a_long_line_can_be_drawn(cli, trained, lines, tmp_path):
    """The picture shows what the model read."""
    outcome = cli("translate", trained, "--attention", tmp_path / "a.jsonl", stdin=f"{LONG}\n{lines[0]}\n")
    rows = [json.loads(row) for row in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert outcome.status == 0 and [len(row["source"]) for row in rows] == [30, len(lines[0].split()) + 1]
    again = "--attention", tmp_path / "a.jsonl", "--force"
    assert cli("translate", trained, "--too-long", "skip", *again, stdin=f"{LONG}\n").status == 0
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {"source": [], "target": [], "weights": []}


def test_evaluate_scores_the_pairs_beside_a_long_one(cli, trained, pairs, tmp_path):
    path = tmp_path / "test.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in [*pairs[:9], (LONG, "x")]), encoding="utf-8")
    outcome = cli("evaluate", trained, "--data", path)
    assert outcome.status == 0 and "of 10 pairs" in outcome.out and "Line 10 has 41 tokens" in outcome.err
    assert "Line 10 must be" in cli("evaluate", trained, "--data", path, "--too-long", "stop").err


def test_a_line_that_is_no_utf_8_loses_none_before_it(cli, trained, lines, translator):
    outcome = cli("translate", trained, stdin=f"{lines[0]}\n{lines[1]}\n".encode() + b"d\xe9j\xe0 vu\ngo .\n")
    assert outcome.status == 2 and outcome.out.splitlines() == translator.translate(lines[:2])
    place = len(f"{lines[0]}\n{lines[1]}\n") + 1
    assert f"Standard input must be UTF-8 text, but line 3, byte {place} of the whole, is not" in outcome.err


def test_a_byte_order_mark_is_no_word(cli, trained, lines, checkpoint, tmp_path):
    assert cli("translate", trained, stdin=f"{BOM}{lines[0]}\n").out == cli("translate", trained, stdin=f"{lines[0]}\n").out
    before = cli("translate", checkpoint, stdin=f"{lines[0]}\n").out
    for name in ("config.json", "source_vocabulary.json"):
        path = checkpoint / name
        path.write_text(BOM + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert cli("translate", checkpoint, stdin=f"{lines[0]}\n").out == before


def test_a_byte_order_mark_in_settings_is_ignored(cli, settings_file, checkpoint, tmp_path):
    path = tmp_path / "train.toml"
    path.write_text(BOM + settings_file.read_text(encoding="utf-8"), encoding="utf-8")
    assert cli("train", path, "--epochs", 1, "--out", tmp_path / "new").status == 0
    (tmp_path / "settings.json").write_text(f"{BOM}{{}}", encoding="utf-8")
    (tmp_path / "settings.toml").write_text(f"{BOM}", encoding="utf-8")
    for ending in ("json", "toml"):
        config = ("--config", tmp_path / f"settings.{ending}")
        assert cli("port", checkpoint, tmp_path / f"{ending}.npz", "--to", "npz", *config).status == 0
