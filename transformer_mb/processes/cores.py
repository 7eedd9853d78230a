"""How many threads arithmetic is worth."""

from __future__ import annotations

import os
from pathlib import Path


def cores() -> int:
    """How many of the processors that this process may use are cores of their own."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    try:
        return len({Path(f"/sys/devices/system/cpu/cpu{i}/topology/thread_siblings_list").read_text() for i in allowed})
    except OSError:
        return len(allowed)
