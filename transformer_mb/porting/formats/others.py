"""What a file has beside its model: the same tensors once more, such as averaged ones, or a part of it that lies apart."""

from __future__ import annotations

import re

from ..model import NativeFile
from .wrappers import plain

OWN = re.compile(r"(?:^|[./])((?:\w*encoder|\w*decoder|layers|blks)[./].*)")  # what modules around a model stand before


def same_names(native: NativeFile, key: str) -> bool:
    """Whether most of an entry's tensors have names of the model."""
    own = {_own(name) for name in native.tensors}
    return 2 * sum(_own(name) in own for name in native.others[key]) > len(native.others[key])


def elsewhere(native: NativeFile) -> list[str]:
    """Entries that may hold a part of the model: matrices of fractions under names that the model has not."""
    own = {_own(name) for name in native.tensors}
    return [
        key
        for key, arrays in native.others.items()
        if any(_own(name) not in own and array.ndim > 1 and array.dtype.kind == "f" for name, array in arrays.items())
    ]


def _own(name: str) -> str:
    own = plain(name)
    found = OWN.search(own)
    return found[1] if found else own
