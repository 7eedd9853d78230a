"""Two processes of Paddle."""

from distributed.checks import TwoProcesses


class TestPaddle(TwoProcesses):
    backend = "paddle"
