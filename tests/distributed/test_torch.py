"""Two processes of torch."""

import pytest

from distributed.checks import InBrief, TwoProcesses


class TestTorch(InBrief):
    backend = "torch"


@pytest.mark.long
class TestTorchAtLength(TwoProcesses):
    backend = "torch"
