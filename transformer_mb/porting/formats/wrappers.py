"""Prefixes that wrappers and outer modules put into the names of a model's tensors, taken off again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import PortError
from ..model import NativeFile

# Of DataParallel, torch.compile, activation checkpointing, FSDP (old and new) and Lightning, wherever they stand in a name.
LEVELS = ("module", "_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module", "_fpw_module", "_forward_module")
WRAPPER = re.compile(rf"(?:(?<=^)|(?<=[./]))(?:{'|'.join(LEVELS)})[./]")
BLOCK = re.compile(r"(?P<outer>(?:[^./]+[./])*?)(?:transformer_)?(?P<side>encoder|decoder)[./](?:layers[./])?blks(?:[./]|_\d)")
SILENT = {"model", "layers", "params", "value", "_layer_checkpoint_dependencies"}  # levels that say nothing
SILENT_LEVELS = re.compile(rf"^(?:(?:{'|'.join(sorted(SILENT))})[./])+")
SHOWN = 4  # names in a sentence


@dataclass(frozen=True)
class PlainNames:
    """``names`` by name of the file; one that is not there is of another model of the file. ``notes`` say what was taken
    off."""

    names: dict[str, str]
    notes: tuple[str, ...] = ()


def plain(name: str) -> str:
    """Drop the levels of wrappers."""
    return WRAPPER.sub("", name)


def plain_names(names: Iterable[str], chosen: Any = None) -> PlainNames:
    """The model's own names. ``chosen`` (the setting ``weights``) is the outer name of one of several models side by side.

    Raises PortError where there are several and none is chosen, and where two tensors would get one name.
    """
    own = {name: plain(name) for name in names}
    notes = []
    if wrapped := [name for name, short in own.items() if short != name]:
        levels = sorted({found[:-1] for name in wrapped for found in WRAPPER.findall(name)})
        notes.append(
            f"{', '.join(levels)} in the names of {len(wrapped)} tensors: wrappers put it there, and it was taken out."
        )
    outers = _outers(own.values())
    if any(len(several) > 1 for several in outers.values()):
        own = _one_of(own, outers, chosen, notes)
        outers = _outers(own.values())
    for outer in sorted({outer for several in outers.values() for outer in several}, key=len, reverse=True):
        if not set(re.split("[./]", outer.rstrip("./"))) <= {"", *SILENT}:
            count = sum(name.startswith(outer) for name in own.values())
            own = {name: short.removeprefix(outer) for name, short in own.items()}
            notes.append(f"{outer} was taken off the names of {count} tensors, before which it stood.")
    if len(set(own.values())) < len(own):
        first: dict[str, str] = {}
        for name, short in own.items():
            if short in first:
                raise PortError(f"Two tensors of the file mean {short:.80}: {first[short]:.80} and {name:.80}.")
            first[short] = name
    return PlainNames(own, tuple(notes))


def _outers(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Return by side what stands before it in the names of its blocks."""
    found: dict[str, dict[str, None]] = {}
    for name in names:
        if match := BLOCK.match(name):
            found.setdefault(match["side"], {})[match["outer"]] = None
    return {side: list(outers) for side, outers in found.items()}


def _one_of(own: dict[str, str], outers: Mapping[str, list[str]], chosen: Any, notes: list[str]) -> dict[str, str]:
    """The names of one of several models, without those of the others."""
    known = list(dict.fromkeys(outer.rstrip("./") for several in outers.values() for outer in several))
    usual = [name for name in known if set(re.split("[./]", name)) <= {"", *SILENT}]
    if chosen is None and len(usual) == 1:
        chosen, how = usual[0], f"and weights in the settings can choose {', '.join(map(repr, set(known) - set(usual))):.200}"
    elif chosen in known:
        how = "as weights says"
    else:
        listed = ", ".join(repr(name) for name in known[:SHOWN])
        raise PortError(
            f"The file holds the blocks of {len(known)} models, behind {listed:.200}: weights in the settings (config) must "
            f"say which one to take, got {chosen!r:.80}."
        )
    left = [name for name, short in own.items() if not _behind(short, chosen, known)]
    listed = f"{', '.join(left[:SHOWN])}{', ...' if len(left) > SHOWN else ''}"
    whose = repr(chosen) if chosen else "the model"
    notes.append(f"{len(left)} tensors that do not belong to {whose:.80} were left out, {how}: {listed:.300}.")
    return {name: short for name, short in own.items() if name not in set(left)}


def _behind(name: str, chosen: str, known: list[str]) -> bool:
    """Tell whether a tensor is of this model: of one without an outer name, whatever is of no other."""
    of = [one for one in known if one and re.match(rf"{re.escape(one)}[./]", name)]
    return chosen in of if chosen else not of


def bare(names: Iterable[str]) -> list[str]:
    """Shorten names to compare a model's file with its optimizer's, which one module more or less may have saved."""
    names = list(names)
    try:
        own = plain_names(names).names
    except PortError:
        return names
    return [SILENT_LEVELS.sub("", own[name]) for name in names]


OWN = re.compile(r"(?:^|[./])((?:\w*encoder|\w*decoder|layers|blks)[./].*)")  # what modules around a model stand before


def same_names(native: NativeFile, key: str) -> bool:
    """Tell whether most of an entry's tensors have names of the model."""
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
