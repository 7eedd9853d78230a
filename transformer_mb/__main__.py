"""The command line as a process of its own: the installed script, and ``python -m transformer_mb`` where there is none."""

import gc
import sys

from . import registry
from .cli.main import main


def run() -> int:
    """``main`` until the process ends; returns its exit status.

    Python looks for garbage among all that a framework's import made, while it computes and once more at the end: a fifth of
    the time to JAX's first translation. ``gc.freeze`` keeps it from these objects.
    """
    registry.after_import.append(gc.freeze)
    status = main()
    if "triton" not in sys.modules:  # nanobind would report each frozen object of its as a leak
        gc.freeze()
    return status


if __name__ == "__main__":
    sys.exit(run())
