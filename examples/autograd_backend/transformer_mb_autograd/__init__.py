"""A backend of transformer_mb on autograd: NumPy code that is differentiated as it stands."""

from .backend import AutogradBackend

BACKEND = AutogradBackend
