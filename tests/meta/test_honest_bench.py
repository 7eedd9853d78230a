"""Rows of `make bench`: intervals over rounds, a verdict that they allow, and rounds that something disturbed."""

import json
import os
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import bootstrap

from transformer_mb.reports.targets import verdict, verdicts_in_words

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "speed.json"


@pytest.fixture
def bench(monkeypatch):
    """The modules of benchmarks/speed that are asked here."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from speed import disturbance, interval, table, turns

    return SimpleNamespace(disturbance=disturbance, interval=interval.interval, table=table, turns=turns)


def a_row(ratio, interval, **others):
    measured = {"tokens_per_s": [100.0, 80.0, 120.0], "ratio": ratio, "memory_MiB": 1, "rounds": 5}
    measured |= {"intervals": {"ratio": interval, "tokens_per_s": [90.0, 110.0]}} if interval else {}
    sides = {"title": "work", "ours": "torch", "peer": "marian", "ours_measured": measured, "peer_measured": measured}
    return {**sides, "target": 1.5, **others}


def test_the_interval_is_scipys_percentile_bootstrap(bench):
    figures = np.random.default_rng(3).lognormal(0.2, 0.3, 21)
    theirs = bootstrap((figures,), np.median, method="percentile", n_resamples=9999, rng=5).confidence_interval
    # Both draw at random; either end is one of the sorted figures, or the mean of two.
    gap = np.diff(np.sort(figures)).max()
    ours = bench.interval(figures)
    assert np.abs(np.array(ours) - theirs).max() <= gap and bench.interval(figures) == ours


def test_the_interval_of_five_rounds_is_the_lowest_and_the_highest(bench):
    """Three of five draws or more are the lowest with probability 10 x 0.2^3 x 0.8^2 + 5 x 0.2^4 x 0.8 + 0.2^5 = 0.058."""
    assert bench.interval([3.0, 1.0, 2.0, 5.0, 4.0]) == (1.0, 5.0)


def test_the_interval_holds_the_median_about_as_often_as_it_says(bench):
    random = np.random.default_rng(0)
    intervals = [bench.interval(random.exponential(size=15)) for _ in range(200)]
    held = sum(low <= np.log(2) <= high for low, high in intervals)
    assert 180 <= held <= 199 and not all(low <= 1.0 <= high for low, high in intervals)


@pytest.mark.parametrize(
    ("interval", "said"),
    [([1.5, 1.9], "met"), ([1.49, 1.9], "undecided"), ([1.1, 1.5], "undecided"), ([1.1, 1.49], "missed"), (None, "undecided")],
)
def test_a_target_inside_the_interval_is_undecided(bench, interval, said):
    row = a_row([1.6, 1.0, 2.0], interval)
    assert verdict(row) == said and list(bench.table.table([row]))[-1].endswith(f"1.5: {said} |")


@pytest.mark.parametrize(
    ("of", "target", "said"),
    [("tokens/s", 90, "met"), ("tokens/s", 91, "undecided"), ("tokens/s", 111, "missed"), ("products", 0.18, "met"),
     ("products", 0.21, "undecided"), ("products", 0.23, "missed")],
)  # fmt: skip
def test_the_interval_is_of_the_figure_that_the_target_is_about(of, target, said):
    assert verdict(a_row([9.0, 9.0, 9.0], [9.0, 9.0], of=of, target=target, share=0.2)) == said


def test_what_failed_or_has_no_target_has_no_verdict():
    rows = [a_row([1.6, 1.0, 2.0], [1.5, 1.6]), {"failed": "ended", "target": 1.5}, {"ours_measured": {}}]
    assert list(map(verdict, rows)) == ["met", None, None]
    assert verdicts_in_words(list(map(verdict, rows))) == "1 target: 1 met, 0 missed, 0 undecided"


def turns_of(bench, *lost):
    """Turns of one contestant, a second each, numbered by what they did; what was lost of each."""
    return [([(1.0, number, 1)], None if each is None else bench.disturbance.Lost(*each)) for number, each in enumerate(lost)]


QUIET, BUSY = (0.01, 0.0), (0.3, 0.0)


def test_a_disturbed_turn_is_set_aside_and_repeated(bench):
    turns = turns_of(bench, QUIET, BUSY, QUIET, (0.0, 0.06), QUIET, QUIET)
    assert bench.turns.wanted(turns, 5.0) and not bench.turns.wanted([*turns, turns[0]], 5.0)
    kept, told = bench.turns.quietest([*turns, turns[0]])
    assert [number for ((_, number, _),) in kept] == [0, 2, 4, 5, 0]
    assert (told["turns"], told["disturbed"], told["kept_disturbed"]) == (7, 2, 0)
    assert told["most"] == {"others": 0.3, "stolen": 0.06}


def test_repeating_ends_where_nothing_is_left_alone(bench):
    """At three times the row's time; of what there is, the least disturbed are kept, however fast they were, and counted."""
    turns = turns_of(bench, *((0.3 + 0.01 * number, 0.0) for number in range(15)))
    assert bench.turns.wanted(turns[:14], 5.0) and not bench.turns.wanted(turns, 5.0)
    kept, told = bench.turns.quietest(turns[::-1])
    assert [number for ((_, number, _),) in kept] == [0, 1, 2, 3, 4] and told["kept_disturbed"] == 5
    row = a_row([1.6, 1.0, 2.0], [1.5, 1.6], disturbance=told)
    assert bench.table.ratio(row) == "1.60 (1.50 to 1.60), 5 of 5 rounds disturbed" and verdict(row) == "undecided"


def test_where_nothing_is_told_of_the_processors_all_turns_count_and_the_record_says_so(bench):
    turns = turns_of(bench, *[None] * 5)
    assert not bench.turns.wanted(turns, 5.0)
    kept, told = bench.turns.quietest(turns)
    assert len(kept) == 5 and told["watched"] is False


def test_time_of_other_processes_and_stolen_time_are_lost_and_the_contestants_own_is_not(bench, tmp_path, monkeypatch):
    """Two processors for 2 s: 400 ticks, of which 210 were spent, 150 by us, and 20 were stolen."""
    ours = os.getpid()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    for number in (ours, 7):
        (tmp_path / str(number)).mkdir()

    def tell(user, stolen, own):
        zeros = f"cpu9 {10**6 * user} 0 0 0 0 0 0 0 0 0"  # a processor that is not ours
        (tmp_path / "stat").write_text(
            f"cpu 0\ncpu0 {user} 0 0 50 9 0 0 {stolen} 0 0\ncpu1 10 {user} 0 70 9 0 0 0 0 0\n{zeros}\nctxt 5\n"
        )
        (tmp_path / "7" / "stat").write_text(f"7 (a (strange) name) S {'0 ' * 10}{own} 10 3 2 20\n")
        (tmp_path / str(ours) / "stat").write_text(f"{ours} (python) S {'0 ' * 10}5 0 0 0 20\n")

    monkeypatch.setattr(bench.disturbance, "TICKS", 100)
    tell(100, 5, 40)
    seconds = count(10.0, 2.0)
    watch = bench.disturbance.Watch([7], tmp_path, lambda: next(seconds))
    tell(205, 25, 190)
    lost = watch.lost()
    assert lost == ((210 - 150) / 400, 20 / 400) and lost.disturbed
    assert watch.lost() == (0.0, 0.0)
    (tmp_path / "stat").unlink()
    assert watch.lost() is None


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system has no /proc/stat")
def test_a_process_that_works_beside_is_seen(bench):
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            time.sleep(0.2)
            watch = bench.disturbance.Watch([])
            time.sleep(1.0)
            lost = watch.lost()
            own = bench.disturbance.Watch([other.pid]).processes
        finally:
            other.kill()
    assert (lost.others + lost.stolen) * len(watch.processors) > 0.2 and other.pid in own


def test_a_record_of_a_run_has_the_intervals_of_its_rounds(bench):
    random = np.random.default_rng(1)
    ours, theirs = 100 * random.lognormal(0.4, 0.2, 9), 100 * random.lognormal(0.0, 0.2, 9)
    told = bench.turns.spread(list(ours), list(theirs))
    assert told["intervals"]["tokens_per_s"] == bench.turns.rounded(bench.interval(told["each_tokens_per_s"]), 1)
    low, high = told["intervals"]["ratio"]
    assert told["ratio"][1] <= low < told["ratio"][0] < high <= told["ratio"][2]


FAKE = """
class Contestant:
    version = "1.0"
    def __init__(self, inputs, units):
        self.units = int(units)
    def check(self):
        return 0.5
    def round(self):
        return sum(range(20_000)) and self.units
"""


def test_a_race_of_two_processes_keeps_its_rounds_and_what_disturbed_them(bench, tmp_path):
    """Both do the same, and one says that it is a thousand times as much."""
    shutil.copytree(ROOT / "benchmarks" / "speed", tmp_path / "benchmarks" / "speed")
    (tmp_path / "benchmarks" / "speed" / "contestants" / "fake.py").write_text(FAKE)
    (tmp_path / "benchmarks" / "speed" / "inputs.py").write_text(
        "class Inputs:\n    def __init__(self, folder):\n        pass\n"
    )
    sides = [(sys.executable, ["fake", f"units={units}"], tmp_path) for units in (1000, 1)]
    (ours, peer), told = bench.turns.race(tmp_path, sides, 0.0, 0.0)
    assert 5 <= told["turns"] <= 15 and ours["rounds"] == peer["rounds"] == len(ours["each_tokens_per_s"])
    assert told["watched"] == Path("/proc/stat").exists() and ours["ratio"][0] > 1 and set(peer["ratio"]) == {1.0}
    row = {"title": "work", "ours": "fake", "peer": "fake", "target": 1e9, "ours_measured": ours, "peer_measured": peer}
    assert verdict(row) == "missed" and verdict({**row, "disturbance": {"kept_disturbed": 1}}) == "undecided"


def test_the_readme_counts_the_targets_of_the_committed_run(bench):
    rows = json.loads(RESULTS.read_text())["rows"]
    assert f"<!-- speed: begin -->\n{bench.table.targets(rows)}\n<!-- speed: end -->" in (ROOT / "README.md").read_text()


def test_pages_are_filled_in_from_a_record_without_timing(tmp_path):
    page, readme = tmp_path / "page.md", tmp_path / "readme.md"
    for path in (page, readme):
        path.write_text("# Title\n<!-- speed: begin -->\nold\n<!-- speed: end -->\nend\n")
    command = [sys.executable, ROOT / "benchmarks" / "bench.py", "--measured", RESULTS, "--page", page, "--readme", readme]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    inside = page.read_text().partition("begin -->\n")[2].partition("<!-- speed: end")[0]
    assert "old" not in inside and inside in (ROOT / "docs" / "SPEED.md").read_text()
    assert readme.read_text().count(" undecided.") == 1
