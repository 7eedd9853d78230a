"""Damaged files: a random change of a good one, the same for the same seed; and readers of them that may crash or hang."""

import importlib
import os
import random
import resource
import signal
import struct
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from transformer_mb.errors import PortError
from transformer_mb.porting.files.sources import read_source

BIG = [struct.pack("<Q", number) for number in (2**63, 2**40, 2**31, 0, 2**64 - 1)]
BIG += [struct.pack("<I", number) for number in (2**31, 2**32 - 1, 0, 0x7FFFFFFF)]


def mutated(data, seed):
    """One to four changes: bits, numbers that mean sizes, cuts, insertions, pieces moved and repeated."""
    chance = random.Random(seed)
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = place(changed, chance)
        kind = chance.randrange(7)
        if kind == 0:
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            changed[at] = chance.randrange(256)
        elif kind == 2:
            number = chance.choice(BIG)
            changed[at : at + len(number)] = number
        elif kind == 3:
            del changed[at:]
        elif kind == 4:
            del changed[at : at + chance.randint(1, 64)]
        elif kind == 5:
            changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 16)))
        else:
            start = place(changed, chance)
            changed[at:at] = changed[start : start + chance.randint(1, 512)]
        if not changed:
            return b""
    return bytes(changed)


def place(data, chance):
    """Anywhere, but mostly near the beginning or the end, where the structure is."""
    size, where = len(data), chance.randrange(3)
    if where == 0:
        return chance.randrange(size)
    near = chance.randrange(min(size, 400))
    return near if where == 1 else size - 1 - near


@contextmanager
def alarm(seconds):
    def ring(*_):
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read(path, kind, seconds, megabytes):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    try:
        read_source(Path(path), kind, {"num_heads": 2})
        ended = "read"
    except PortError as error:
        ended = str(error)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    status = Path("/proc/self/status").read_text(encoding="ascii")  # ru_maxrss counts what this process was forked from
    peak = int(status.partition("VmHWM:")[2].split()[0])
    took = sum(one.ru_utime + one.ru_stime for one in used)
    return {}, {"ended": ended, "seconds": took, "megabytes": max(peak, used[1].ru_maxrss) / 1024}


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
