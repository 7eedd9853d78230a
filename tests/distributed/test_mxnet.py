"""Two processes of MXNet."""

from distributed.checks import TwoProcesses


class TestMXNet(TwoProcesses):
    backend = "mxnet"
