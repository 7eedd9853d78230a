"""Loss of processor time while contestants ran: to other processes, or to whoever owns the machine."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")  # of /proc, a second
ALLOWED = 0.05  # of the processors' time: what counts by ticks of a hundredth of a second cannot tell less apart
BUSY, STOLEN = (0, 1, 2, 5, 6), 7  # columns of /proc/stat: user, nice, system, interrupts; and what a hypervisor kept


class Lost(NamedTuple):
    """Shares of the time of the processors that this process may use."""

    others: float
    stolen: float

    @property
    def disturbed(self):
        return self.others + self.stolen > ALLOWED


class Watch:
    """The time of processors from one look to the next, of which the contestants' own is not lost.

    Args:
        processes: numbers of the contestants; this process is one of them. proc: the folder of that name. clock: seconds.
    """

    def __init__(self, processes, proc=Path("/proc"), clock=time.perf_counter):
        self.processes, self.proc, self.clock = (*processes, os.getpid()), proc, clock
        self.processors = {f"cpu{number}" for number in os.sched_getaffinity(0)} if hasattr(os, "sched_getaffinity") else set()
        self.last = self._look()

    def lost(self):
        """Return what was lost since the last look; None where the system does not tell."""
        before, self.last = self.last, self._look()
        if before is None or self.last is None:
            return None
        seconds, busy, stolen, own = (after - earlier for after, earlier in zip(self.last, before, strict=True))
        whole = max(seconds * TICKS * len(self.processors), 1.0)
        return Lost(round(max(busy - own, 0) / whole, 3), round(stolen / whole, 3))

    def _look(self):
        try:
            rows = [line.split() for line in (self.proc / "stat").read_text().splitlines()]
            ticks = [[int(field) for field in fields] for name, *fields in rows if name in self.processors]
            own = sum(self._own(number) for number in self.processes)
        except (OSError, ValueError):
            return None
        return self.clock(), sum(each[column] for each in ticks for column in BUSY), sum(each[STOLEN] for each in ticks), own

    def _own(self, number):
        """Ticks of a process and of its ended children, by the fields after its name, which may hold any character."""
        fields = (self.proc / str(number) / "stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))
