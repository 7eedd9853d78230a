"""The command in a session of its own, ended in the middle; and who is left of it, and where it listens."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

NARROW = ("--backends", "numpy", "--cases", "layer forward: layer norm*", "--dtype", "float64")


def started(seeds, out, *more):
    command = [sys.executable, "-m", "transformer_mb", "parity", "--seeds", seeds, "--out", str(out), *NARROW, *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finished(folder):
    return {path.stem for path in (folder / "units").glob("*.json")}


def wait_until(holds, seconds=400.0):
    """As long as another person's work on the machine makes it take."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.05)


def family(pid):
    """A process and those that it has started, and so on."""
    parents = {}
    for one in Path("/proc").glob("[0-9]*"):
        try:
            parents.setdefault(int((one / "stat").read_text().rpartition(")")[2].split()[1]), []).append(int(one.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def alive(pids):
    """Those that run still. A process that has ended and that nobody has asked about is a Z."""
    return [pid for pid in pids if _state(pid) not in ("Z", "X", None)]


def _state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def command(pid):
    """What a process calls itself; nothing where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def listening(pids):
    """The addresses at which processes listen, as the kernel writes them."""
    inodes = set()
    for pid in pids:
        try:
            inodes |= {os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir()}
        except OSError:
            continue
    lines = [line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
    return {line[1].split(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in inodes}


def errors(folder):
    """Of every cell of every unit, to the last bit, and how each was judged."""
    runs = [json.loads(path.read_text()) for path in sorted((folder / "units").glob("*.json"))]
    return [
        (run["unit"]["seed"], one["backend"], one["case"], one["error"], one["limit"], one["status"])
        for run in runs
        for one in run["results"]
    ]
