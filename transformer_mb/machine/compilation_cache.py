"""The folder in the user's cache where compiled programs are kept for later processes."""

from __future__ import annotations

import hashlib
import os
import platform
import stat
from pathlib import Path

from .processor import flags

VARIABLE = "TRANSFORMER_MB_COMPILATION_CACHE"
OFF = "off"


def compilation_cache(framework: str) -> Path | None:
    """The folder of a framework's programs for this processor, which is made; None where none are to be kept, or can be.

    VARIABLE names the folder that holds it, or is ``off``. To load a program is to run it, so each folder made here is this
    user's alone, and one that others may write to, or that is not this user's, is not taken.
    """
    given = os.environ.get(VARIABLE)
    if given == OFF or os.name != "posix":
        return None
    try:
        root = Path(given).absolute() if given else _user_caches() / "transformer_mb"
        folder = root / framework / _processor()
        root.parent.mkdir(parents=True, exist_ok=True)
        for place in (root, root / framework, folder):
            place.mkdir(mode=0o700, exist_ok=True)
            found = place.stat()
            if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return None
        return folder if os.access(folder, os.R_OK | os.W_OK | os.X_OK) else None
    except (OSError, RuntimeError):  # no such user, or no home
        return None


def _user_caches() -> Path:
    """Return the folder of the XDG base directory specification, which ignores a relative path."""
    said = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return said if said.is_absolute() else Path.home() / ".cache"


def _processor() -> str:
    """Name all processors that can run each other's programs: a home may be shared between machines.

    What a program was compiled for may be an illegal instruction elsewhere, and a framework's own key may leave it out.
    """
    can = flags() or platform.node()
    return hashlib.sha256(f"{platform.machine()} {can}".encode()).hexdigest()[:16]
