"""A backend of transformer_mb on MLX's arrays, which it differentiates by mx.vjp."""

from .backend import MLXBackend

BACKEND = MLXBackend
