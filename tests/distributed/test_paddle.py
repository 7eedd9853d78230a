"""Two processes of Paddle."""

import pytest

from distributed.checks import TwoProcesses


@pytest.mark.further
class TestPaddle(TwoProcesses):
    backend = "paddle"
