"""Two processes of Paddle."""

import pytest

from distributed.checks import TwoProcesses


@pytest.mark.long
class TestPaddle(TwoProcesses):
    backend = "paddle"
