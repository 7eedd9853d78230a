"""The backends that tests of the matrix find at fault."""

from parity.conftest import faulty_backends

__all__ = ["faulty_backends"]
