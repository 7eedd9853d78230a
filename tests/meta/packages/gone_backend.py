"""A backend whose divergences have gone."""

from known_backend import GoneBackend

BACKEND = GoneBackend
