"""A backend of another package: NumPy's, with a function of its own."""

import numpy as np

from transformer_mb.backends.numpy import NumPyBackend


def sequence_mask(X, valid_len, value=0):
    """The same mathematics by other means."""
    inside = np.arange(X.shape[1]) < valid_len[:, None]
    return np.where(inside.reshape(inside.shape + (1,) * (X.ndim - 2)), X, np.asarray(value, X.dtype))


class ElsewhereBackend(NumPyBackend):
    name = "elsewhere"
    sequence_mask = staticmethod(sequence_mask)


BACKEND = ElsewhereBackend
