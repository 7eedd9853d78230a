"""JAX on the second of two virtual devices: whatever stayed on the first, as on a processor beside a GPU, would be refused."""

import json
import os
import subprocess
import sys

import pytest

CASES = "layer gradients: encoder block [*|optimizer step: adam, clipped*|greedy tokens: d2l*|model gradients: d2l [*"
TWO = "--xla_force_host_platform_device_count=2"


@pytest.mark.long
def test_jax_on_the_second_of_two_devices(tmp_path):
    out = tmp_path / "parity.json"
    columns = ("--backends", "numpy,jax@second", "--device", "jax@second=cpu:1", "--dtype", "float32")
    command = (sys.executable, "-m", "transformer_mb", "parity", *columns, "--cases", CASES, "--json", out)
    environment = {**os.environ, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {TWO}"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    run = json.loads(out.read_text())
    assert run["devices"] == {"numpy": "cpu", "jax@second": "cpu:1"}
    assert {one["row"] for one in run["results"] if one["backend"] == "jax@second"} == {
        "layer gradients", "optimizer step", "greedy tokens", "model gradients",
    }  # fmt: skip
