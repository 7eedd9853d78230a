"""Real runs of the matrix in processes of their own, which crash, hang and are ended from outside."""

import os
import signal
import threading
import time
from dataclasses import replace

import pytest

from parity.sweeps.commands import alive, family, finished, started, wait_until
from transformer_mb.errors import KilledError
from transformer_mb.parity.sweeping.sweep import collected, in_turn, run_missing
from transformer_mb.parity.sweeping.unit import answered

FAULTS = {"killed": ("was ended by SIGKILL", 600.0), "hanging": ("did not answer within 15 seconds", 15.0)}


@pytest.mark.long(but=1)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_column_that_crashes_or_hangs_has_failed_and_is_not_tried_again(fault, folder, units, faulty_backends):
    words, timeout = FAULTS[fault]
    told = []
    unable = run_missing(units(1, "numpy", fault, timeout=timeout), folder, in_turn(2), told.append)
    ((_, run, *_),) = folder.results()
    assert unable == {} and len(told) == 1 and run["attempts"] == 1
    failed = [one for one in run["results"] if one["backend"] == fault and one["status"] == "failed"]
    assert words in failed[-1]["reason"], failed
    findings = collected(folder)
    assert not findings.holds and findings.missed == [] and findings.failed == run["failed"] >= len(failed)


def test_a_process_ended_from_outside_is_tried_again(folder, units):
    def end_the_first():
        wait_until(lambda: len(family(os.getpid())) > 1)
        time.sleep(0.5)
        os.kill(family(os.getpid())[1], signal.SIGKILL)

    killer = threading.Thread(target=end_the_first)
    killer.start()
    told = []
    assert run_missing(units(1), folder, in_turn(1), told.append) == {}
    killer.join()
    assert "lost: The process of the matrix with seed 0 was ended by SIGKILL" in told[0]
    assert folder.result(units(1)[0].name)["attempts"] == 2


def test_a_node_with_other_code_or_other_data_is_refused(units, tmp_path):
    (unit,) = units(1)
    other = answered(replace(unit, source="0" * 64).request, 1)
    assert "must hold the transformer_mb that started the sweep, 000000000000" in str(other)
    data = tmp_path / "pairs.tsv"
    data.write_text("Go.\tVa !\n")
    moved = replace(unit, selection=replace(unit.selection, data=data), data_digest="0" * 64)
    assert "must be the same file on every node" in str(answered(moved.request, 1))
    assert not isinstance(other, KilledError)


ENDINGS = {"kill -9": (signal.SIGKILL, -9), "Ctrl-C": (signal.SIGINT, 130), "SIGTERM": (signal.SIGTERM, 143)}


@pytest.mark.long(but=1)
@pytest.mark.parametrize("how", ["kill -9", "Ctrl-C", pytest.param("SIGTERM", marks=pytest.mark.long)])
def test_what_was_ended_leaves_nobody_and_goes_on_where_it_was(how, folder):
    """The second of three runs is under way; afterwards the same command runs two."""
    number, status = ENDINGS[how]
    process = started("0-2", folder.folder)
    wait_until(lambda: finished(folder.folder))
    wait_until(lambda: len(family(process.pid)) > 1)
    everyone, first = family(process.pid), finished(folder.folder)
    process.send_signal(number)
    assert process.wait(60) == status
    wait_until(lambda: not alive(everyone), 10.0)
    assert finished(folder.folder) == first and len(collected(folder).missed) == 3 - len(first)
    again = started("0-2", folder.folder)
    said = again.stderr.read()
    assert again.wait(60) == 0 and f"3 units, {len(first)} of them in" in said
    assert said.count(" cells, 0 failed") == 3 - len(first) and collected(folder).holds
