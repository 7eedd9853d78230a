"""Characters that stand for the 256 bytes in tokenizers of bytes (GPT-2, and ``ByteLevel`` of the library ``tokenizers``)."""

from __future__ import annotations

from itertools import count

# Those that are seen when printed stand for themselves.
SEEN = frozenset((*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
FIRST_OTHER = 256


def byte_characters() -> list[str]:
    """Return the character of each byte, as Radford et al. (2019) number them.

    A byte that is not seen, such as a blank, has the next character from U+0100 on.
    """
    others = count(FIRST_OTHER)
    return [chr(byte if byte in SEEN else next(others)) for byte in range(256)]
