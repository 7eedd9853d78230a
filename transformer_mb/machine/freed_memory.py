"""Memory that a training step frees stays with the process, since the next step needs as much."""

from __future__ import annotations

import ctypes
import os

# Of glibc's malloc.h. A block of more than MMAP_MOST bytes, the largest number that glibc takes, is the system's own business.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
MMAP_MOST = 2**25
VARIABLES = "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES"


def keep_freed_memory(kept: int = 2**31 - 1) -> None:
    """Have glibc give freed memory back to the system beyond ``kept`` bytes, where it keeps some 64 MB by itself.

    The system clears each page that is wanted again: a step of base size took NumPy 6 % longer, Paddle 8 %, PyTorch 5 %,
    in bfloat16 19 %. The most that a process has in memory stays the same. Nothing changes where the user's environment says
    how much is kept, or where the C library is another.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and not os.environ.keys() & {*VARIABLES}:
        mallopt(MMAP_THRESHOLD, MMAP_MOST)
        mallopt(TRIM_THRESHOLD, kept)
