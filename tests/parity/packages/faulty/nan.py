"""Answers NaN."""

import numpy as np

from transformer_mb.backends.numpy import NumPyBackend


class NaNBackend(NumPyBackend):
    name = "nan"

    def apply(self, *inputs, **options):
        return np.full_like(super().apply(*inputs, **options), np.nan)


BACKEND = NaNBackend
