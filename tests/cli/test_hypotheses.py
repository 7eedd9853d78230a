"""``translate --n-best``, ``--scores`` and ``--length-penalty``."""

import numpy as np
import pytest

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
