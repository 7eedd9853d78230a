"""The loop that runs in a worker's process: one backend, one request after the other."""

from __future__ import annotations

import gc
import hashlib
import json
import platform
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...backend import Backend

# New objects until Python looks for garbage, 700 of itself: what a framework traces is many that live on. With JAX it took a
# tenth of a thread's time.
SELDOM = 10_000


def source_digest() -> str:
    """A fingerprint of this library's code: two processes with the same one compute by the same rules."""
    package = Path(__file__).parents[2]
    # In a checkout backends is a link, which rglob does not follow.
    files = {path for folder in (package, package / "backends") for path in folder.rglob("*.py")}
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def serve(channel: Any, backend: str, device: str | None) -> None:
    """Answer a greeting, then requests until the channel closes.

    An answer is ``(text, bytes)``: an empty text and arrays, or an error's words.
    """
    from ...registry import load_backend_class

    backends: dict[str, Backend] = {}
    loaded = load_backend_class(backend)
    first = backends["float32"] = loaded(device=device, dtype="float32")
    gc.freeze()
    gc.set_threshold(SELDOM, *gc.get_threshold()[1:])
    greeting = {
        "version": loaded.version(),
        "dtypes": list(loaded.dtypes),
        "device": first.device_name,
        "hardware": first.hardware or platform.machine(),
        "python": sys.version.split()[0],
        "digest": source_digest(),
    }
    channel.send((json.dumps(greeting), b""))
    for text, data in channel:
        channel.send(_answer(loaded, backends, device, text, data))


def _answer(loaded: Any, backends: dict[str, Any], device: str | None, text: str, data: bytes) -> tuple[str, bytes]:
    from ...machine.out_of_memory import without_memory
    from ...processes.messages import pack_arrays
    from .computations import compute
    from .messages import Request

    try:
        request = Request.unpack(text, data)
        if request.dtype not in backends:
            backends[request.dtype] = loaded(device=device, dtype=request.dtype)
        return "", pack_arrays(compute(backends[request.dtype], request))
    except Exception as error:
        traceback.print_exc()  # into the worker's file
        return f"{type(error).__name__}: {without_memory(error) or error}", b""
