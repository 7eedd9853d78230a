"""A ceiling on the memory and the time of a process that is about to read a foreign file with a foreign loader."""

from __future__ import annotations

import time
from contextlib import suppress

GROWTH, ALLOWANCE = 16, 256 << 20
SECONDS, BYTES_A_SECOND = 5, 1 << 20  # of computing: far above what any good file takes on a slow machine


def limit_process(file_size: int) -> None:
    """Allow this process what it has now and a small multiple of the file; only Linux tells and keeps that.

    Beyond the memory there is MemoryError, or the loader ends the process; beyond the time the system does.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/status", encoding="ascii") as status:
            used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
        limit = used + GROWTH * file_size + ALLOWANCE
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        seconds = int(time.process_time()) + SECONDS + file_size // BYTES_A_SECOND
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
