"""Two processes of TensorFlow."""

import pytest

from distributed.checks import InBrief, TwoProcesses


class TestTensorFlow(InBrief):
    backend = "tensorflow"


@pytest.mark.long
class TestTensorFlowAtLength(TwoProcesses):
    backend = "tensorflow"
