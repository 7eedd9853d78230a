"""Processes that train together, started for a list of tasks: one start of a framework serves many tests."""

import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from transformer_mb.columns.inside import end_with_parent

HERE = Path(__file__).parent
PATIENCE = 900  # seconds for all tasks: a machine may be busy, and what hangs is told by the timeouts of the processes
# JAX compiles a quarter faster so, and no result changes.
QUICKLY = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1"
)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def variables(rank, size, port, **more):
    named = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, **more}
    quick = {
        "GLOO_SOCKET_IFNAME": "lo",
        "UCX_NET_DEVICES": "lo",
        "OMP_NUM_THREADS": "1",
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", QUICKLY),
    }
    quick |= {"TRANSFORMER_MB_TIMEOUT": "600", "TF_CPP_MIN_LOG_LEVEL": "2"}
    return {**os.environ, **quick, **{name: str(value) for name, value in named.items()}}


def ended(processes, patience=PATIENCE):
    """What processes have said when they have ended. Those that have not in that time are killed: none outlives the test."""
    with ThreadPoolExecutor(len(processes)) as pool:
        return list(pool.map(partial(_said, patience), processes))


def _said(patience, process):
    try:
        return process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()


def start(command, environment):
    return subprocess.Popen(
        [sys.executable, *map(str, command)], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=partial(end_with_parent, os.getpid()),
    )  # fmt: skip


def run(backend, folder, tasks, size=2, shard=False, **more):
    """What each task gave in each process: {task: [of rank 0, of rank 1]}."""
    port = free_port()
    command = [HERE / "worker.py", backend, folder, json.dumps(tasks), *(["shard"] if shard else [])]
    processes = [start(command, variables(rank, size, port, **more)) for rank in range(size)]
    said = ended(processes)
    wrong = [f"rank {rank}: {text[1][-3000:]}" for rank, text in enumerate(said) if processes[rank].returncode]
    assert not wrong, "\n".join(wrong)
    results = [json.loads((folder / f"results.{rank}.json").read_text()) for rank in range(size)]
    return {name: [result[name] for result in results] for name in results[0]}
