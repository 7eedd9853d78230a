"""Two processes of TensorFlow."""

import pytest

from distributed.checks import InBrief, TwoProcesses


@pytest.mark.long
class TestTensorFlow(InBrief):
    backend = "tensorflow"


@pytest.mark.long
class TestTensorFlowAtLength(TwoProcesses):
    backend = "tensorflow"
