"""``translate``: lines that are too long or no UTF-8, hypotheses, scores and penalties."""

import json

import numpy as np
import pytest

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
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {
        key: [] for key in ("source", "target", "weights", "encoder", "inputs", "decoder")
    }


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


# ``translate --n-best``, ``--scores`` and ``--length-penalty``.

LINE = "go .\n"


@pytest.mark.parametrize("wrong", ["1e9", "inf", "10.1"])
def test_a_length_penalty_out_of_bounds_is_a_wrong_call(fails, trained, data, wrong):
    for command in (("translate", trained, "--scores"), ("evaluate", trained, "--data", data)):
        assert "length_penalty must be from 0 to 10" in fails(*command, "--beam", 2, "--length-penalty", wrong, stdin=LINE)


@pytest.mark.parametrize("penalty", ["--length-penalty", "--coverage-penalty"])
def test_a_penalty_without_a_beam_is_warned_of(cli, trained, data, penalty):
    said = f"Warning: {penalty} changes nothing without --beam N: a greedy search compares no hypotheses.\n"
    for command in (("translate", trained), ("evaluate", trained, "--data", data)):
        greedy, warned = cli(*command, stdin=LINE), cli(*command, penalty, 0.6, stdin=LINE)
        assert warned.err == greedy.err + said and warned.out == greedy.out and warned.status == 0
        assert said not in cli(*command, penalty, 0.6, "--beam", 2, stdin=LINE).err


@pytest.mark.parametrize("penalty", ["--length-penalty", "--coverage-penalty"])
def test_a_penalty_of_what_is_drawn_is_warned_of_as_such(cli, trained, penalty):
    drawn, warned = (cli("translate", trained, "--sample", *more, stdin=LINE) for more in ((), (penalty, 0.6)))
    assert warned.err == f"Warning: {penalty} changes nothing with --sample: what is drawn is not compared.\n" + drawn.err
    assert warned.out == drawn.out and warned.status == 0


def test_a_length_penalty_of_a_greedy_search_changes_its_score(cli, trained):
    plain, other = (cli("translate", trained, "--scores", "--length-penalty", given, stdin=LINE) for given in (0, 1))
    assert plain.out != other.out and other.err == plain.err == ""


def test_the_command_prints_hypotheses_with_their_scores(cli, fails, trained, translator, lines):
    text = f"{lines[0]}\n\n{lines[1]}\n"
    outcome = cli("translate", trained, "--beam", 3, "--n-best", 2, "--length-penalty", 1, stdin=text)
    rows = [row.split("\t") for row in outcome.out.splitlines()]
    expected = translator.hypotheses([lines[0], "", lines[1]], 3, 2, 1.0)
    assert [(int(row[0]), row[3]) for row in rows] == [(n, one.text) for n, found in enumerate(expected, 1) for one in found]
    flat = [one for found in expected for one in found]
    np.testing.assert_allclose([[float(row[1]), float(row[2])] for row in rows], [one[2:] for one in flat], atol=1e-5)
    (scored,) = (row.split("\t") for row in cli("translate", trained, "--scores", stdin=lines[0]).out.splitlines())
    assert scored[3] == translator.translate(lines[0]) and float(scored[2]) == pytest.approx(
        translator.hypotheses(lines[0], beam=1)[0].log_probability, abs=1e-5
    )
    assert "must be from 1 to the beam's 1, got 2" in fails("translate", trained, "--n-best", 2)
    assert "length_penalty at least 0" not in cli("translate", trained, "--length-penalty", -1).out


def test_invariant_translates_each_line_by_itself(cli, trained, lines, monkeypatch):
    from transformer_mb.backend import Backend

    sizes = []
    greedy = Backend.greedy
    monkeypatch.setattr(Backend, "greedy", lambda self, model, source, *rest, **more: (
        sizes.append(len(source)) or greedy(self, model, source, *rest, **more)
    ))  # fmt: skip
    text = "\n".join(lines) + "\n"
    assert cli("translate", trained, "--invariant", stdin=text).out == cli("translate", trained, stdin=text).out
    assert sizes == [1] * len(lines) + [len(lines)]
