"""The trial's commands run in this process, on the small checkpoint of the tests of the command line."""

from cli.conftest import checkpoint, cli, data, fails, pairs, settings_file, trained
from parity.conftest import faulty_backends

__all__ = ["checkpoint", "cli", "data", "fails", "faulty_backends", "pairs", "settings_file", "trained"]
