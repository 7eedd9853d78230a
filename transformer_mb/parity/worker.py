"""The loop that runs in a worker's process: one backend, one request after the other."""

from __future__ import annotations

import hashlib
import json
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..backend import Backend


def source_digest() -> str:
    """A fingerprint of this library's code: two processes with the same one compute by the same rules."""
    package = Path(__file__).parents[1]
    folders = (package, package / "backends", package.parent / "backends")
    files = {path for folder in folders for path in folder.rglob("*.py")}
    digest = hashlib.sha256()
    for name, path in sorted((f"{path.parent.name}/{path.name}", path) for path in files):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def serve(channel: Any, backend: str, device: str | None) -> None:
    """Answer a greeting, then requests until the channel closes.

    An answer is ``(text, bytes)``: an empty text and arrays, or an error's words.
    """
    from ..registry import load_backend_class

    made: dict[str, Backend] = {}
    loaded = load_backend_class(backend)
    first = made["float32"] = loaded(device=device, dtype="float32")
    greeting = {
        "version": loaded.version(),
        "dtypes": list(loaded.dtypes),
        "device": first.device_name,
        "python": sys.version.split()[0],
        "digest": source_digest(),
    }
    channel.send((json.dumps(greeting), b""))
    for text, data in channel:
        channel.send(_answer(loaded, made, device, text, data))


def _answer(loaded: Any, made: dict[str, Any], device: str | None, text: str, data: bytes) -> tuple[str, bytes]:
    from ..processes.messages import pack_arrays
    from .computations import COMPUTATIONS
    from .messages import Request

    try:
        request = Request.unpack(text, data)
        if request.dtype not in made:
            made[request.dtype] = loaded(device=device, dtype=request.dtype)
        found = COMPUTATIONS[request.computation](made[request.dtype], request.spec, request.arrays)
        return "", pack_arrays(found)
    except Exception as error:
        traceback.print_exc()  # into the worker's file
        return f"{type(error).__name__}: {error}", b""
