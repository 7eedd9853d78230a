"""Wants more memory than there is."""

import numpy as np

from transformer_mb.backends.numpy import NumPyBackend


class GreedyBackend(NumPyBackend):
    name = "greedy_for_memory"

    def apply(self, *inputs, **options):
        return np.ones(2**57)


BACKEND = GreedyBackend
