"""The columns of a run from the options that name backends, devices, interpreters and hosts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .column import Column

BEFORE_NAME = re.compile(r",(?=[\w.+@ -]+=)")  # a comma that a NAME= follows


def names(option: str, given: Sequence[str] | None, known: Sequence[str], everything: Callable[[], Sequence[str]]) -> list[str]:
    """Return the names that an option lists, by commas or by being repeated; ``everything()`` where it is absent.

    A framework's other names, such as ``keras``, are understood.

    Raises ParityError for a list without a name, and for names that are not ``known`` before their @.
    """
    from ..errors import ParityError
    from ..registry import OTHER_NAMES

    if given is None:
        return list(everything())
    split = (name.partition("@") for value in given for name in _split(value))
    listed = [(name if name in known else OTHER_NAMES.get(name.lower(), name)) + at + version for name, at, version in split]
    if not listed:
        raise ParityError(f"{option} must name at least one of {', '.join(known)}, got {', '.join(map(repr, given))}.")
    if unknown := [name for name in listed if name.partition("@")[0] not in known]:
        raise ParityError(f"{option} must name some of {', '.join(known)}, got {', '.join(map(repr, unknown))}.")
    return list(dict.fromkeys(listed))


def offering(backends: Sequence[str], dtypes: Sequence[str]) -> list[str]:
    """Return the backends that have one of the dtypes, as far as is known before they run."""
    from ..registry import entries

    return [name for name in backends if not entries()[name].dtypes or set(dtypes) & set(entries()[name].dtypes)]


def parsed_columns(
    backends: Sequence[str] | None,
    dtypes: Sequence[str],
    devices: Sequence[str] = (),
    pythons: Sequence[str] = (),
    hosts: Sequence[str] = (),
) -> list[Column]:
    """Return the columns; those that only ``--python`` or ``--ssh`` name are added to those asked for.

    NumPy computes on the CPU alone, beside other frameworks also where all have another device.
    """
    from ..built_in import DEFAULT
    from ..errors import ParityError
    from ..registry import entries, installed
    from .column import Column

    python, ssh = _assigned("--python", pythons), _assigned("--ssh", hosts)
    labels = names("--backends", backends, list(entries()), lambda: offering(installed(), dtypes))
    labels += names("--python and --ssh", [*python, *ssh] or None, list(entries()), tuple)
    everywhere, own = _devices([device for value in devices for device in _split(value) or [value]])
    if other := [label for label in own if label not in labels]:
        raise ParityError(f"--device must name columns of this run ({', '.join(labels)}), got {', '.join(other)}.")
    plain = {label for label in labels if label.partition("@")[0] == DEFAULT}
    beside = "cpu" if everywhere and not plain.issuperset(labels) else everywhere
    device = {label: beside if label in plain else everywhere for label in labels} | own
    return [Column(label, python.get(label), ssh.get(label), device[label]) for label in device]


def _devices(given: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """The device of all columns, and those of single ones."""
    from ..errors import ParityError

    everywhere = [device for device in given if "=" not in device]
    if len(set(everywhere)) > 1 or "" in everywhere:
        raise ParityError(
            f"--device must be one device for all columns, and NAME=DEVICE for a single one, got {', '.join(map(repr, given))}."
        )
    return next(iter(everywhere), None), _assigned("--device", [device for device in given if "=" in device])


def _assigned(option: str, values: Sequence[str]) -> dict[str, str]:
    """Read NAME=VALUE pairs, with commas between them: a path may hold others."""
    from ..errors import ParityError

    pairs: dict[str, str] = {}
    for value in map(str.strip, itertools.chain.from_iterable(map(BEFORE_NAME.split, values))):
        name, _, right = value.partition("=")
        if not name or not right:
            raise ParityError(f"{option} must be NAME=VALUE, got {value!r}.")
        if pairs.setdefault(name, right) != right:
            raise ParityError(f"{option} must give {name} once, got {pairs[name]!r} and {right!r}.")
    return pairs


def _split(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]
