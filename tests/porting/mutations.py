"""Damaged files: a random change of a good one, the same for the same seed."""

import random
import struct

BIG = [struct.pack("<Q", number) for number in (2**63, 2**40, 2**31, 0, 2**64 - 1)]
BIG += [struct.pack("<I", number) for number in (2**31, 2**32 - 1, 0, 0x7FFFFFFF)]


def mutated(data, seed):
    """One to four changes: bits, numbers that mean sizes, cuts, insertions, pieces moved and repeated."""
    chance = random.Random(seed)
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = place(changed, chance)
        kind = chance.randrange(7)
        if kind == 0:
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            changed[at] = chance.randrange(256)
        elif kind == 2:
            number = chance.choice(BIG)
            changed[at : at + len(number)] = number
        elif kind == 3:
            del changed[at:]
        elif kind == 4:
            del changed[at : at + chance.randint(1, 64)]
        elif kind == 5:
            changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 16)))
        else:
            start = place(changed, chance)
            changed[at:at] = changed[start : start + chance.randint(1, 512)]
        if not changed:
            return b""
    return bytes(changed)


def place(data, chance):
    """Anywhere, but mostly near the beginning or the end, where the structure is."""
    size, where = len(data), chance.randrange(3)
    if where == 0:
        return chance.randrange(size)
    near = chance.randrange(min(size, 400))
    return near if where == 1 else size - 1 - near
