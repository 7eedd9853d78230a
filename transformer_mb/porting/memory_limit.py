"""A ceiling on the memory of a process that is about to read somebody's file with somebody's loader."""

from __future__ import annotations

from contextlib import suppress

GROWTH, ALLOWANCE = 16, 256 << 20


def limit_memory(file_size: int) -> None:
    """Allow this process what it has now and a small multiple of the file; only Linux tells and keeps that."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/status", encoding="ascii") as status:
            used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
        limit = used + GROWTH * file_size + ALLOWANCE
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))
