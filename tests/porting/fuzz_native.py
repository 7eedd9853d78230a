"""Run as a program: a framework's own reader on damaged files, each in a child of this process, so that it may crash.

python fuzz_native.py RUNNER FILE COUNT SEED prints a JSON object of how many ended how: ``read``, ``refused`` (with
PortError), ``crashed`` (by a signal, which ``worker.call`` reports as PortError), ``hung``, ``other`` (with what), and the
largest memory that a child took beyond its parent's, in bytes.
"""

import gc
import importlib
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from porting.mutations import mutated
from transformer_mb.errors import PortError

PATIENCE = 20  # seconds


def main(runner, file, count, seed):
    module, package, key = {
        "hdf5": ("hdf5", "h5py", "path"),
        "torch": ("torch_files", "torch", "path"),
        "tensorflow": ("tensorflow_files", "tensorflow", "prefix"),
    }[runner]
    read = importlib.import_module(f"transformer_mb.porting.runners.{module}").read
    importlib.import_module(package)
    data, outcome, largest = Path(file).read_bytes(), {}, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(file).name
        if runner == "tensorflow":
            body = Path(file).with_suffix(".data-00000-of-00001")
            (Path(folder) / body.name).write_bytes(body.read_bytes())
        settings = {key: str(path.with_suffix("") if runner == "tensorflow" else path)}
        read({}, settings) if path.exists() else None
        for number in range(int(count)):
            path.write_bytes(mutated(data, int(seed) + number))
            ending, memory = in_a_child(lambda: read({}, settings), Path(folder) / "words")
            outcome[ending] = outcome.get(ending, 0) + 1
            largest = max(largest, memory)
    print(json.dumps({"outcome": outcome, "largest": largest}))


def in_a_child(run, words):
    words.unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = os.fork()
    if not child:
        status = 0
        try:
            run()
        except PortError:
            status = 1
        except BaseException as error:
            words.write_text(f"{type(error).__name__}: {error}")
            status = 2
        gc.disable()
        os._exit(status)
    end = time.monotonic() + PATIENCE
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return "hung", 0
        time.sleep(0.001)
    memory = max(usage.ru_maxrss - before, 0) * 1024
    if os.WIFSIGNALED(status):
        return "crashed", memory
    code = os.WEXITSTATUS(status)
    return {0: "read", 1: "refused"}.get(code, f"other {words.read_text()[:200] if words.exists() else code}"), memory


if __name__ == "__main__":
    main(*sys.argv[1:])
