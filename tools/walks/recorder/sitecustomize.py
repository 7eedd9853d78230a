"""Write each of the package's own functions down when a process enters it first: see ``tools/walks/count.py``.

Python imports this module by its name in every process that has its folder in PYTHONPATH.
"""

import os
import sys
import threading
from pathlib import Path

FOLDER = os.environ.get("WALK_INTO")
ROOT = Path(__file__).resolve().parents[3]
ROOMS = tuple(str(ROOT / name) + os.sep for name in ("transformer_mb", "backends"))


def record(folder):
    """Append one line per function, since a worker that is ended writes nothing at its end.

    Comprehensions are part of the function that they stand in, and calls made by a module's body are part of its import.
    """
    entered, files = set(), {}
    out = open(Path(folder) / f"{os.getpid()}.tsv", "a", buffering=1)  # noqa: SIM115, as long as the process

    def on_event(frame, event, argument):
        if event != "call" or frame.f_code in entered:
            return
        code = frame.f_code
        if code.co_name in COMPREHENSIONS or is_imported(frame.f_back):
            return
        entered.add(code)
        path = files.get(code.co_filename) or files.setdefault(code.co_filename, os.path.realpath(code.co_filename))
        if path.startswith(ROOMS) and code.co_flags & NEWLOCALS_AND_OPTIMIZED == NEWLOCALS_AND_OPTIMIZED:
            out.write(f"{os.path.relpath(path, ROOT)}\t{code.co_qualname if hasattr(code, 'co_qualname') else code.co_name}\n")

    threading.setprofile(on_event)
    sys.setprofile(on_event)


def is_imported(frame):
    """Tell whether a module's body stands below, other than that of the program."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            return True
        frame = frame.f_back
    return False


COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
NEWLOCALS_AND_OPTIMIZED = 0x1 | 0x2  # of a function, not of a module or a class' body

if FOLDER:
    record(FOLDER)
