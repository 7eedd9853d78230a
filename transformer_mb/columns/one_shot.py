"""A call in a process of its own, started for it: a loader that crashes, hangs or leaks ends only itself."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import KilledError, TransformerMBError, WorkerError
from ..files.staging import staged
from .ending import FROM_OUTSIDE, TIMEOUT, ending, hung
from .inside import end_with_parent
from .messages import Arrays, Message, get, put

# The process works in a temporary folder, where it would not find a checkout that is not installed.
START = """
import sys
if sys.argv[1] not in sys.path:
    sys.path.insert(0, sys.argv[1])
from transformer_mb.columns.one_shot import answer
answer(*sys.argv[2:])
"""


def call(
    function: str,
    arrays: Arrays,
    facts: Mapping[str, Any],
    *,
    name: str,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = TIMEOUT,
) -> Message:
    """Run ``module:function`` on arrays and JSON-like facts; returns its arrays and facts.

    Args:
        name: what a message calls the process. timeout: in seconds; None waits for as long as it takes.
    Raises:
        KilledError: something outside ended the process.
        WorkerError: the words of one of our errors that the function raised, or how else its process ended. Its cause is an
            OSError that the function raised.
    """
    place = tempfile.gettempdir()
    try:
        with staged(Path(place)) as folder:
            put(folder, "in", arrays, facts)
            _run([function, str(folder), str(os.getpid()), name], folder, environment or {}, timeout, name)
            arrays, facts = get(folder, "out")
    except OSError as error:
        raise WorkerError(f"The temporary folder {place} cannot be written to: {error.strerror or error}.") from None
    if "error" in facts:
        raise WorkerError(facts["error"]) from (OSError(*facts["system"]) if "system" in facts else None)
    return arrays, facts


def _run(arguments: list[str], folder: Path, environment: Mapping[str, str], timeout: float | None, name: str) -> None:
    command = [sys.executable, "-P", "-c", START, str(Path(__file__).parents[2]), *arguments]
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "replace"}
    try:
        process = subprocess.run(command, timeout=timeout, cwd=folder, env={**os.environ, **environment}, **streams)
    except subprocess.TimeoutExpired:
        raise WorkerError(f"The process of {name} {hung(timeout or 0.0)}.") from None
    except OSError as error:
        raise WorkerError(f"The process of {name} could not be started: {error}.") from None
    if process.returncode or not (folder / "out.json").is_file():
        kind = KilledError if -process.returncode in FROM_OUTSIDE else WorkerError
        raise kind(f"The process of {name} {ending(process.returncode, process.stderr).removesuffix('.')}.")


def answer(function: str, folder: str, parent: str, name: str) -> None:
    """Run as the new process: call the function, and leave its answer or its error."""
    end_with_parent(int(parent))
    module, attribute = function.split(":")
    run = getattr(importlib.import_module(module), attribute)
    try:
        arrays, facts = run(*get(Path(folder), "in"))
    except TransformerMBError as error:
        arrays, facts = {}, {"error": str(error)}
    except OSError as error:
        reason = error.strerror or str(error)
        arrays, facts = {}, {"error": f"{name}: {reason}.", "system": (error.errno, reason)}
    put(Path(folder), "out", arrays, facts)
