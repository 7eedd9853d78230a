"""Two processes of MXNet."""

import pytest

from distributed.checks import InBrief, TwoProcesses


class TestMXNet(InBrief):
    backend = "mxnet"


@pytest.mark.long
class TestMXNetAtLength(TwoProcesses):
    backend = "mxnet"
