"""A corpus translated by two nodes of Ray on this machine, one of which goes away in the middle."""

import os
import subprocess
import sys

import pytest

from parity.sweeps.commands import finished, wait_until
from transformer_mb.units.on_ray import same_handler

ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "0f" * 32,
    "RAY_worker_niceness": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}


@pytest.mark.long
def test_every_line_once_and_in_order_though_a_node_and_the_command_are_ended(trained, pairs, tmp_path, cli, monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    lines = [source for source, _ in pairs] * 50
    data, out = tmp_path / "data.txt", tmp_path / "out"
    data.write_text("".join(f"{line}\n" for line in lines))
    cluster = Cluster()
    with same_handler():
        cluster.add_node(num_cpus=0, include_dashboard=False)
        cluster.add_node(num_cpus=1)
        leaving = cluster.add_node(num_cpus=1)
    command = [
        sys.executable,
        "-m",
        "transformer_mb",
        "translate",
        trained,
        "--data",
        data,
        "--out",
        out,
        "--shard-lines",
        "100",
    ]
    command += ["--on", "ray", "--address", cluster.address]
    try:
        process = subprocess.Popen(command, env={**os.environ, **ENVIRONMENT}, start_new_session=True)
        wait_until(lambda: len(finished(out)) > 3)
        cluster.remove_node(leaving)
        wait_until(lambda: len(finished(out)) > 8)
        process.kill()
        process.wait()
        before = finished(out)
        again = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True)
        assert again.returncode == 0, again.stderr
        assert len(before) < 20 == len(finished(out)) and f"{len(before)} of them in" in again.stderr
    finally:
        cluster.shutdown()
    assert cli("translate", "--collect", out).out == cli("translate", trained, stdin="\n".join(lines) + "\n").out
