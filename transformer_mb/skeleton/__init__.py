"""The package that a backend of one's own begins as: files that say what is to be filled in, from the contracts themselves."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import BackendError, DestinationError
from ..files.staging import made_parents, staged
from ..registry import entries
from .package import files


def write_package(name: str, folder: Path) -> list[str]:
    """Write the package of a new backend, and return its files by their paths inside it.

    Args:
        name: of the backend, as ``get_backend`` will take it. folder: a new one.
    Raises: BackendError for a name that is none or is taken; DestinationError where the folder exists or cannot be made.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise BackendError(f"The name of a backend must be lower-case letters, digits and _, got {name!r}.")
    if name in entries():
        raise BackendError(f"The name of a new backend must be none of {', '.join(entries())}, got {name!r}.")
    folder = Path(folder).absolute()
    if os.path.lexists(folder):
        raise DestinationError(f"The folder of a new backend must not exist, got {folder}.")
    texts = files(name)
    try:
        with made_parents(folder), staged(folder.parent) as stage:
            for path, text in texts.items():
                (stage / "new" / path).parent.mkdir(parents=True, exist_ok=True)
                (stage / "new" / path).write_text(text, encoding="utf-8")
            (stage / "new").rename(folder)
    except OSError as error:
        raise DestinationError(f"The folder {folder} cannot be written: {error.strerror or error}.") from None
    return sorted(texts)
