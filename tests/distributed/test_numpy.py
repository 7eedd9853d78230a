"""Two processes of NumPy."""

from distributed.checks import TwoProcesses


class TestNumPy(TwoProcesses):
    backend = "numpy"
