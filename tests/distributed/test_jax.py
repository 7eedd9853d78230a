"""Two processes of JAX."""

import pytest

from distributed.checks import InBrief, TwoProcesses


@pytest.mark.further
class TestJAX(InBrief):
    backend = "jax"


@pytest.mark.long
class TestJAXAtLength(TwoProcesses):
    backend = "jax"
    # A compiled step has no gradients of one process: what is wrong with their sum cannot be planted.
    mistakes = ("rows lost",)
    dropout_of_one = True
