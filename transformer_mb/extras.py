"""The commands that install the optional parts of this package."""

from __future__ import annotations

import importlib.metadata
import re
import shlex


def install_command(extra: str) -> str:
    """The ``pip install`` of what the extra ``extra`` of pyproject.toml lists.

    It names the packages themselves, so that it holds for a wheel, a checkout and an editable install alike.
    """
    try:
        every = importlib.metadata.requires("transformer_mb") or []
    except importlib.metadata.PackageNotFoundError:  # a checkout on the path, where nothing was installed
        every = []
    belongs = re.compile(rf"""\s*;\s*extra\s*==\s*['"]{re.escape(extra)}['"]\s*$""")
    needed = [belongs.sub("", line) for line in every if belongs.search(line)]
    return f"pip install {shlex.join(needed)}" if needed else f"pip install '.[{extra}]' in a checkout of transformer_mb"
