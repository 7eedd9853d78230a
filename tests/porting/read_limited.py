"""One file read within a ceiling: how it ended, in how many seconds of computing (start and workers included) and with how
much memory at most, in MB, in this process or a worker.
"""

import resource
from pathlib import Path

from transformer_mb.errors import PortError
from transformer_mb.porting.files.sources import read_source


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
