"""Two processes of torch."""

from distributed.checks import TwoProcesses


class TestTorch(TwoProcesses):
    backend = "torch"
