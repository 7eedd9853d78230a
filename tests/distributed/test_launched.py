"""The processes that ``train --processes`` starts: whichever stands still, whatever the signal, all of them end."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from distributed.group import ended, start
from distributed.running import ENDLESS, alive, children, command, environment, running
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.training import launch

SLEEPS, FAILS, DONE = "import time; time.sleep(600)", "raise SystemExit(1)", ""
DEAF = f"import signal; [signal.signal(one, signal.SIG_IGN) for one in (2, 15)]; print(flush=True); {SLEEPS}"


@pytest.fixture
def ranks(monkeypatch):
    """Makes processes of programs, and ends them after the test."""
    monkeypatch.setattr(launch, "GRACE", 0.3)
    with launch._none_left() as running:

        def make(*programs):
            for program in programs:
                running.append(
                    subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True)
                )
            for process, program in zip(running, programs, strict=True):
                if program == DEAF:
                    process.stdout.readline()
            return running

        yield make


@pytest.mark.parametrize("still", [0, 1, 2])
def test_whichever_rank_stands_still_it_is_killed_once_another_has_failed(ranks, still):
    programs = [SLEEPS if rank == still else FAILS for rank in range(3)]
    running = ranks(*programs)
    running[still].send_signal(signal.SIGSTOP)
    first, killed = launch._first_failure(running, [], 600.0)
    assert first in {0, 1, 2} - {still} and killed == [still]
    assert running[still].returncode == -signal.SIGKILL


@pytest.mark.parametrize("lost", [0, 1])
def test_a_rank_that_aborts_as_it_has_lost_another_is_not_the_cause(ranks, lost):
    """MPI aborts one at once, where the one that was killed is seen to have ended a little later."""
    killed_late = "import os, time; time.sleep(0.3); os.kill(os.getpid(), 9)"
    programs = [killed_late if rank == lost else "import os; os.abort()" for rank in range(2)]
    assert launch._first_failure(ranks(*programs), [], 600.0) == (lost, [])


def test_a_rank_that_is_left_when_rank_0_is_done_is_killed(ranks):
    first, killed = launch._first_failure(ranks(DONE, DEAF), [], 0.3)
    assert (first, killed) == (1, [1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ranks_that_were_stopped_hear_a_signal(ranks, number):
    running = ranks(SLEEPS, SLEEPS)
    for process in running:
        process.send_signal(signal.SIGSTOP)
    first, killed = launch._first_failure(running, [number], 600.0)
    assert first is not None and killed == [] and {process.returncode for process in running} <= {-number, 1, 130}


@pytest.mark.parametrize(("signals", "timeout"), [([15], 0.3), ([15, 15], 600.0), ([2, 2], 600.0)])
def test_ranks_that_hear_no_signal_are_killed_soon_after_a_second_one(ranks, monkeypatch, signals, timeout):
    monkeypatch.setattr(launch, "SAME_REQUEST", 0.0)
    _, killed = launch._first_failure(ranks(DEAF, DEAF), signals, timeout)
    assert killed == [0, 1]


def test_what_a_rank_has_started_is_not_left(ranks, monkeypatch):
    """A program that starts another one, in a process group that it leads, and fails."""
    with launch._none_left() as running:
        program = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', '{SLEEPS}']).pid, flush=True)"
        running.append(subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True))
        grandchild = int(running[0].stdout.readline())
        assert alive([grandchild])
    end = threading.Event()
    while alive([grandchild]) and not end.wait(0.01):
        pass


LAUNCH = """
import sys
from transformer_mb.training import launch
launch.GRACE = 1.0
status, words = launch.launch([*sys.argv[1:], "--distributed"], 2)
print(words)
raise SystemExit(status)
"""


def launch_of(data, folder):
    _, _, *arguments = command(data, folder, ENDLESS)
    return ["-c", LAUNCH, *arguments]


@pytest.mark.long
@pytest.mark.parametrize("still", [0, 1])
def test_a_training_ends_whichever_of_its_processes_was_stopped(data, tmp_path, still):
    folder = tmp_path / "model"
    with running(folder, launch_of(data, folder), TRANSFORMER_MB_TIMEOUT="4") as training:
        os.kill(training.ranks[still], signal.SIGSTOP)
        status, said, _ = training.ended()
    assert status == 1
    assert f"Rank {still} of 2 stood still, and was killed." in said


@pytest.mark.long
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_saves_a_training_of_which_a_process_was_stopped(data, tmp_path, number, status):
    folder = tmp_path / "model"
    with running(folder, launch_of(data, folder)) as training:
        os.kill(training.ranks[0], signal.SIGSTOP)
        time.sleep(0.2)
        training.process.send_signal(number)
        found, _, error = training.ended()
    assert found == status, error
    assert f"Interrupted after step {read_checkpoint(folder).trainer['step']} " in error


@pytest.mark.long
def test_a_signal_before_the_processes_have_met_ends_them(data, tmp_path):
    process = start(launch_of(data, tmp_path / "model"), environment())
    try:
        while len(children(process)) < 2:
            time.sleep(0.001)
        numbers = children(process)
        process.send_signal(signal.SIGTERM)
        ended([process], 60)
    finally:
        ended([process], 0.1)
    assert process.returncode in (143, 1) and not alive(numbers)


def test_a_time_that_is_none_is_told_once(data, tmp_path):
    said = start([*command(data, tmp_path / "m"), "--processes", 2], environment(TRANSFORMER_MB_TIMEOUT="9" * 20))
    ((_, error),) = ended([said], 60)
    assert said.returncode == 1 and error.count("TRANSFORMER_MB_TIMEOUT must be a whole number from 1 to 1000000") == 1


@pytest.mark.parametrize("count", ["-1", "0", "100000", '"two"', "1.5", "true"])
def test_a_number_of_processes_that_is_none_is_refused(data, tmp_path, count):
    (tmp_path / "train.toml").write_text(f"processes = {count}\n")
    said = start(
        ["-m", "transformer_mb", "train", tmp_path / "train.toml", "--data", data, "--out", tmp_path / "m"], environment()
    )
    ((_, error),) = ended([said], 60)
    assert said.returncode == 2 and error.count("\n") == 1 and "processes must be a" in error
