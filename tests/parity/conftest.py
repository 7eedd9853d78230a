"""Workers of the parity matrix, started once for a module."""

import os
from pathlib import Path

import pytest

from transformer_mb.columns.column import Column
from transformer_mb.parity.worker import Worker

PACKAGES = Path(__file__).parent / "packages"


@pytest.fixture
def faulty_backends(monkeypatch):
    """Workers and this process find the backends of ``packages``."""
    monkeypatch.setenv("PYTHONPATH", str(PACKAGES), prepend=os.pathsep)
    monkeypatch.syspath_prepend(str(PACKAGES))


@pytest.fixture
def worker(tmp_path):
    """Starts a worker, and ends it with the test."""
    started = []

    def start(label, **options):
        timeout = options.pop("timeout", 300.0)
        started.append(Worker(Column(label, **options), tmp_path, timeout))
        return started[-1]

    yield start
    for each in started:
        each.stop()
