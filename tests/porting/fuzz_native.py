"""A framework's own reader on damaged files, each in a child of this process, so that it may crash.

Returns how many ended how: ``read``, ``refused`` (with
PortError), ``crashed`` (by a signal, which ``worker.call`` reports as PortError), ``hung``, ``other`` (with what), and the
most that a child's memory grew, in bytes.
"""

import importlib
import os
import signal
import tempfile
import time
from pathlib import Path

from porting.mutations import mutated
from transformer_mb.errors import PortError

TIMEOUT = 20  # seconds


def fuzz(runner, file, count, seed):
    module, package, key = {
        "hdf5": ("keras", "h5py", "path"),
        "torch": ("torch", "torch", "path"),
        "tensorflow": ("tensorflow", "tensorflow", "prefix"),
    }[runner]
    read = importlib.import_module(f"transformer_mb.porting.formats.native_loaders.{module}").read
    importlib.import_module(package)
    data, outcome, largest = Path(file).read_bytes(), {}, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(file).name
        if runner == "tensorflow":
            body = Path(file).with_suffix(".data-00000-of-00001")
            (Path(folder) / body.name).write_bytes(body.read_bytes())
        settings = {key: str(path.with_suffix("") if runner == "tensorflow" else path)}
        path.write_bytes(data)
        ending, _ = in_a_child(lambda: read({}, settings), Path(folder) / "words")
        assert ending == "read", f"the good file: {ending}"
        for number in range(count):
            path.write_bytes(mutated(data, seed + number))
            ending, grown = in_a_child(lambda: read({}, settings), Path(folder) / "words")
            outcome[ending] = outcome.get(ending, 0) + 1
            largest = max(largest, grown)
    return {}, {"outcome": outcome, "largest": largest}


def in_a_child(run, words):
    """How ``run`` ended in a child of this process, and how much its memory grew there at most, in bytes."""
    words.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        before, status, told = memory("VmRSS"), 0, ""
        try:
            run()
        except PortError:
            status = 1
        except BaseException as error:
            status, told = 2, f"{type(error).__name__}: {error}"
        words.write_text(f"{memory('VmHWM') - before} {told:.200}")
        os._exit(status)
    end = time.monotonic() + TIMEOUT
    done = 0
    while not done:
        done, status = os.waitpid(child, os.WNOHANG)
        if time.monotonic() > end and not done:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hung", 0
        time.sleep(0.0005)
    if os.WIFSIGNALED(status):
        return "crashed", 0
    grown, _, told = words.read_text().partition(" ")
    return {0: "read", 1: "refused"}.get(os.WEXITSTATUS(status), f"other {told}"), int(grown)


def memory(field):
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))
