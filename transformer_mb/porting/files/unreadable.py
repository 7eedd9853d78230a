"""What a file that is of no known format seems to be: cut short, or something that its framework saves beside weights."""

from __future__ import annotations

import zipfile
from pathlib import Path

from ...files.regular import open_regular

ZIP = b"PK\x03\x04"
KERAS = "model.weights.h5"  # in a .keras file
TEXT = (b"{", b"[", b"<", b"#")


def what_it_seems(path: Path) -> str:
    """The end of a sentence, "" where nothing can be said."""
    with open_regular(path) as file:
        head = file.read(8)
        whole = zipfile.is_zipfile(file)
    if not head:
        return ": it is empty"
    if whole:
        return _zip(path)
    if head.startswith(ZIP):
        return ": it is a zip without its end, such as a .pt, .npz or .keras file that was cut short"
    return ": it begins as a text does" if head.startswith(TEXT) else ""


def _zip(path: Path) -> str:
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    if KERAS in names:
        return ": it is a whole Keras model (.keras), of which model.save_weights('NAME.weights.h5') saves what can be ported"
    listed = ", ".join(names[:3])
    return f": it is a zip of other things ({listed:.200})" if names else ": it is an empty zip"
