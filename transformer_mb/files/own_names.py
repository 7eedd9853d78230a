"""Hidden names beside what is written. A checksum in each says that it is the project's: no user names a folder so by
chance."""

from __future__ import annotations

import hashlib
import os
import secrets

PREFIX = ".transformer_mb."


def stage_name() -> str:
    """Name a folder for unfinished files; no two are alike."""
    word = secrets.token_hex(4)
    return f"{PREFIX}{word}-{_checksum(word)}"


def is_stage(name: str) -> bool:
    """Tell whether ``stage_name`` may have given a name: a user's ``.transformer_mb.backup`` is none."""
    word, dash, checksum = name.removeprefix(PREFIX).partition("-")
    return name.startswith(PREFIX) and bool(dash) and checksum == _checksum(word)


def name_beside(kind: str, name: str) -> str:
    """The one name of its kind that belongs to a file or folder called ``name``, however long that is."""
    return f"{PREFIX}{kind}-{_checksum(f'{kind} {name}')}"


def _checksum(text: str) -> str:
    return hashlib.sha256(b"transformer_mb " + os.fsencode(text)).hexdigest()[:16]
