"""Two processes of JAX."""

import pytest

from distributed.checks import InBrief, TwoProcesses


class OneProgram:
    def test_each_process_drops_others(self, results):
        """XLA has summed the loss of all. What they drop is what one process drops, which the longer test compares."""
        (one, whole), (other, other_whole) = results["rows alike"]
        assert other == other_whole == 0.0 and abs(one / whole - 1.0) > 1e-3


@pytest.mark.long
class TestJAX(OneProgram, InBrief):
    backend = "jax"


@pytest.mark.long
class TestJAXAtLength(OneProgram, TwoProcesses):
    backend = "jax"
    # A compiled step has no gradients of one process: what is wrong with their sum cannot be planted.
    mistakes = ("rows lost",)
    dropout_of_one = True
