"""One of ``searching``, as an entry point names it."""

from faulty.searching import Wider as BACKEND

__all__ = ["BACKEND"]
