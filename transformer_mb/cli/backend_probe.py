"""Run as ``python -m transformer_mb.cli.backend_probe NAME``: says as one line of JSON what a backend offers here."""

from __future__ import annotations

import json
import sys

from ..errors import BackendError
from ..registry import load_backend_class


def describe(name: str) -> dict[str, object]:
    try:
        backend = load_backend_class(name)
        answer = {"version": backend.version(), "devices": backend.devices(), "dtypes": list(backend.dtypes)}
    except BackendError as error:
        return {"usable": False, "version": None, "devices": [], "dtypes": [], "reason": str(error)}
    return {"usable": True, **answer, "reason": None}


if __name__ == "__main__":
    # A framework may have written to standard output while it was imported: the answer is the last line.
    sys.stdout.write("\n" + json.dumps(describe(sys.argv[1])) + "\n")
