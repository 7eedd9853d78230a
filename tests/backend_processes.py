"""The pytest process of each backend, started with the session so that the slow ones run beside all other tests."""

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
# Small arrays: a second thread costs more than it brings.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Ended(NamedTuple):
    """How a backend's process ended: its output if it failed, the test cases of its report."""

    failure: str | None
    cases: list[ElementTree.Element]


class BackendProcesses:
    """As many at a time as there are cores, in the order in which they are given."""

    def __init__(self, wanted: list[tuple[str, str]]):
        self.pool = ThreadPoolExecutor(os.cpu_count())
        self.futures = {(name, marks): self.pool.submit(_run, name, marks) for name, marks in wanted}

    def result(self, name: str, marks: str) -> Ended:
        return self.futures[name, marks].result()

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)


def _run(name: str, marks: str) -> Ended:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "--backend", name, "-q", "-m", marks, "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, f"--junitxml={report}"], cwd=ROOT, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True
        )
        if done.returncode != 0:
            return Ended(f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}", [])
        return Ended(None, list(ElementTree.parse(report).getroot().iter("testcase")))
