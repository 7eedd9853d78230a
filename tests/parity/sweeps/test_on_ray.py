"""Sweeps through Ray itself: two nodes on this machine, which lose processes, and one of which goes away."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from parity.sweeps.commands import LOOPBACK, alive, command, errors, family, finished, listening, started, wait_until
from parity.sweeps.conftest import made_up
from transformer_mb.errors import UnitsError
from transformer_mb.parity.sweeping.folder import SweepFolder
from transformer_mb.parity.sweeping.sweep import collected, in_turn, run_missing
from transformer_mb.units.on_ray import on_ray, same_handler

pytestmark = pytest.mark.long  # a node takes seconds to start
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0f" * 32}
LOOPBACK_ONLY = {"RAY_worker_niceness": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}


@pytest.fixture(scope="module")
def cluster():
    """A head that computes nothing, and two nodes with a place each; one of them has what the other has not."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**TOKEN, **LOOPBACK_ONLY}.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster

        cluster = Cluster()
        with same_handler():
            patiently(cluster.add_node, num_cpus=0, include_dashboard=False)
            patiently(cluster.add_node, num_cpus=1, resources={"python:numpy@old": 1})
            cluster.leaving = patiently(cluster.add_node, num_cpus=1, resources={"leaving": 1})
        yield cluster
        cluster.shutdown()


def patiently(add_node, **options):
    """Ray gives a node half a minute to start, which is too short on a machine where much else runs."""
    for _ in range(4):
        with contextlib.suppress(Exception):
            return add_node(**options)
    return add_node(**options)


def stub(log=None, then=""):
    """What a node does instead of a run: it notes that it began, with its node, and may wait for a file."""
    told = made_up(0)
    (result,) = told["results"]

    def answer(request, jobs):
        import os
        import pathlib
        import time

        import ray

        if log is not None:
            with open(log, "a") as file:
                file.write(f"{request['seed']} {ray.get_runtime_context().get_node_id()} {os.getpid()}\n")
        while then and request["seed"] < 2 and not pathlib.Path(then).exists():
            time.sleep(0.02)
        return {**told, "results": [{**result, "error": 1e-14 * (1 + request["seed"] % 7)}]}

    return answer


def swept(cluster, units, folder, log=None, then="", **options):
    told = []
    with on_ray(stub(log, then), cluster.address, jobs=1, **options) as engine:
        unable = run_missing(units, folder, engine, told.append)
    return unable, told


def began(log):
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def meanwhile(function):
    import threading

    thread = threading.Thread(target=function)
    thread.start()
    return thread


@pytest.mark.long
def test_a_thousand_units_with_flat_memory(cluster, folder, units):
    def resident():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

    taken = []
    with on_ray(stub(), cluster.address, jobs=1) as engine:
        for _ in engine(units(1000)):
            taken.append(resident())
    assert len(taken) == 1000 and taken[-1] - taken[200] < 20.0, (taken[200], taken[-1])


def test_a_worker_of_ray_that_is_killed_is_tried_again(cluster, folder, units, tmp_path):
    log, go = tmp_path / "log", tmp_path / "go"

    def kill():
        wait_until(lambda: len(began(log)) == 2)
        os.kill(int(began(log)[0][2]), signal.SIGKILL)
        go.touch()

    killer = meanwhile(kill)
    unable, told = swept(cluster, units(3), folder, log, str(go))
    killer.join()
    lost = int(began(log)[0][0])
    assert unable == {} and sum("lost: " in line for line in told) == 1
    assert {unit.selection.seed: folder.result(unit.name)["attempts"] for unit in units(3)} == {
        seed: 2 if seed == lost else 1 for seed in range(3)
    }


def test_a_unit_runs_only_where_there_is_what_it_needs(cluster, folder, units, tmp_path):
    log, before = tmp_path / "log", signal.getsignal(signal.SIGTERM)
    assert swept(cluster, units(6), folder, log, needs={"python:numpy@old": 0.001})[0] == {}
    assert signal.getsignal(signal.SIGTERM) is before  # Ray's own would end the command with status 15
    assert len({node for _, node, _ in began(log)}) == 1 and len(began(log)) == 6


def test_what_no_node_has_is_said_at_once(cluster, folder, units):
    start = time.monotonic()
    with pytest.raises(UnitsError, match=r"must have what a unit needs, GPU=1, CPU=1, got nodes with .*CPU=1"):
        swept(cluster, units(1), folder, needs={"GPU": 1.0})
    assert time.monotonic() - start < 60.0  # connecting included


def test_a_node_that_goes_away_in_mid_run(cluster, folder, units, tmp_path):
    """It was running one of the units, which another node runs again; the last test that has two nodes."""
    log, go = tmp_path / "log", tmp_path / "go"

    def remove():
        wait_until(lambda: len(began(log)) == 2)
        cluster.remove_node(cluster.leaving)
        go.touch()

    remover = meanwhile(remove)
    unable, told = swept(cluster, units(12), folder, log, str(go))
    remover.join()
    findings = collected(folder)
    assert unable == {} and findings.holds and findings.read == findings.units == len(finished(folder.folder)) == 12
    assert findings.retried >= 1 and sum("lost: " in line for line in told) >= 1
    assert findings.cells == 12 and findings.seeds == set(range(12))


OPEN_TO_OTHERS = """
import os, stat
from pathlib import Path
from transformer_mb.units.on_ray import on_ray
with on_ray(print):
    import ray
    session = Path(ray._private.worker._global_node.get_session_dir_path())
    private = [one for one in session.parents if not stat.S_IMODE(one.stat().st_mode) & 0o077 and one.owner()]
    print(session.is_dir(), bool(private), len(str(session / "sockets" / "plasma_store")) <= 107)
print(private[0].exists())
"""


def test_no_other_user_reaches_the_session_of_a_ray_of_our_own_and_nothing_is_left_of_it(tmp_path):
    """Ray makes its folders for everybody to write into; one above them is its starter's alone."""
    place = tmp_path / ("a" * 60)
    place.mkdir()
    for environment in ({}, {"TMPDIR": str(place)}):
        done = subprocess.run(
            [sys.executable, "-c", OPEN_TO_OTHERS], env={**os.environ, **environment}, capture_output=True, text=True
        )
        assert done.stdout.split() == ["True", "True", "True", "False"], done.stderr[-2000:]


@pytest.mark.long
def test_a_cluster_that_asks_for_no_token_is_refused(folder, units):
    """In a process of its own, which has not asked for one."""
    code = """
from ray.cluster_utils import Cluster
from transformer_mb.errors import UnitsError
from transformer_mb.units.on_ray import on_ray
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
try:
    with on_ray(print, cluster.address):
        print("taken")
except UnitsError as error:
    print(error)
with on_ray(print, cluster.address, without_token=True):
    print("taken when told to")
cluster.shutdown()
"""
    environment = {**os.environ, **LOOPBACK_ONLY, "RAY_AUTH_MODE": "disabled"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    assert "must ask for a token" in first and "got one that asks for none at" in first and second == "taken when told to"


@pytest.mark.long
def test_here_and_through_ray_to_the_last_bit(folder, units, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    assert run_missing(units(4, "numpy", "torch"), SweepFolder(here), in_turn(2), print) == {}
    process = started("0-3", there, "--backends", "torch", "--on", "ray", "--timeout", "600")
    assert process.wait(600) == 0
    assert finished(here) == finished(there) and len(finished(here)) == 4
    assert errors(here) == errors(there) and len({error for _, _, _, error, _, _ in errors(here)}) > 10


# After kill -9 two of Ray's own, which compute nothing, look for a minute for a head that is gone too.
LOOKING = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "status", "later"), [(signal.SIGKILL, -9, LOOKING), (signal.SIGINT, 130, ()), (signal.SIGTERM, 143, ())]
)
def test_the_command_listens_on_the_loopback_alone_leaves_nobody_and_goes_on(how, status, later, folder):
    process = started("0-2", folder.folder, "--on", "ray")
    wait_until(lambda: finished(folder.folder))
    everyone = family(process.pid)
    assert len(everyone) > 5 and listening(everyone) and listening(everyone) <= LOOPBACK
    process.send_signal(how)
    assert process.wait(60) == status, process.stderr.read()[:3000]
    wait_until(lambda: all(command(pid).startswith(later) for pid in alive(everyone)), 10.0)
    wait_until(lambda: not alive(everyone), 120.0)
    first = finished(folder.folder)
    again = started("0-2", folder.folder)
    said = again.stderr.read()
    assert again.wait(60) == 0 and said.count(" cells, 0 failed") == 3 - len(first) and collected(folder).holds
