"""Foreign code in a process of its own: two frameworks in one process can crash, and a loader that crashes ends only itself.

Arrays travel as safetensors files and everything else as JSON, so that nothing is unpickled on the way.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from ..errors import PortError, TransformerMBError
from ..files.staging import staged
from ..files.tensors import write_tensors
from ..processes.environment import SETTINGS

PATIENCE = 600  # seconds
ARRAYS, FACTS = "{}.safetensors", "{}.json"
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def call(
    runner: str, arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any], patience: float = PATIENCE
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Run ``module:function`` of ``transformer_mb.porting`` on arrays and JSON-like settings; returns its arrays and facts.

    Raises PortError: what the runner raised, or how its process ended.
    """
    try:
        with staged(Path(tempfile.gettempdir())) as folder:
            _put(folder, "in", arrays, settings)
            arrays, facts = _answer(runner, folder, patience)
    except OSError as error:
        raise PortError(
            f"The temporary folder {tempfile.gettempdir()} cannot be written to: {error.strerror or error}."
        ) from None
    if "error" in facts:
        raise PortError(facts["error"])
    return arrays, facts


def _answer(runner: str, folder: Path, patience: float) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    command = [sys.executable, "-P", "-m", __name__, runner, str(folder), str(os.getpid())]
    environment = {**os.environ, **SETTINGS, "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow", "JAX_PLATFORMS": "cpu"}
    try:
        ended = subprocess.run(
            command, timeout=patience, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True
        )
    except subprocess.TimeoutExpired:
        raise PortError(f"{runner} did not answer within {patience:.0f} seconds.") from None
    if ended.returncode:
        raise PortError(_how_it_ended(runner, ended))
    return _get(folder, "out")


def _put(folder: Path, which: str, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> None:
    write_tensors(folder / ARRAYS.format(which), arrays)
    (folder / FACTS.format(which)).write_text(json.dumps(facts), encoding="utf-8")


def _get(folder: Path, which: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    return load_file(folder / ARRAYS.format(which)), json.loads((folder / FACTS.format(which)).read_text(encoding="utf-8"))


def _how_it_ended(runner: str, ended: subprocess.CompletedProcess[bytes]) -> str:
    last = (ended.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"])[-1]
    if ended.returncode == -signal.SIGXCPU:
        return (
            f"{runner} took more time than a file of its size needs, and was ended: the file is damaged, or meant to do that."
        )
    if ended.returncode < 0:
        return f"The process of {runner} was ended by {signal.Signals(-ended.returncode).name}: {last}"
    return f"The process of {runner} ended with status {ended.returncode}: {last}"


def _end_with(parent: int) -> None:
    """Be killed when the process that waits for the answer is; only Linux offers that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended before it was asked
            os._exit(1)


def main(runner: str, folder: str, parent: str) -> None:
    _end_with(int(parent))
    module, function = runner.split(":")
    run = getattr(importlib.import_module(f"transformer_mb.porting.{module}"), function)
    try:
        arrays, facts = run(*_get(Path(folder), "in"))
    except TransformerMBError as error:
        arrays, facts = {}, {"error": str(error)}
    except OSError as error:
        arrays, facts = {}, {"error": f"{runner}: {error.strerror or error}."}
    _put(Path(folder), "out", arrays, facts)


if __name__ == "__main__":
    main(*sys.argv[1:])
