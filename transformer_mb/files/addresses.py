"""Addresses where a path is expected: ``Path`` would make one slash of two, and no message would name what was given."""

from __future__ import annotations

import re
from typing import Any

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+[^/]")  # https://..., s3://..., and what Path leaves of them


def is_address(path: Any) -> bool:
    """Tell whether a name is another machine's, such as ``https://example.org/a.tsv``; a drive's letter is none."""
    return ADDRESS.match(str(path)) is not None
