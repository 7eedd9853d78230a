"""Permissions of each side's process: its own files, and no more of ours; and the program by which it begins so."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..check import Subject
from ..check.subjects import KINDS
from ..errors import ConfigError
from . import confine

# Programs and libraries of the system; of processes its own alone, for others' are to stay unseen.
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt", "/etc", "/sys", "/proc/self", "/proc/sys", "/proc/cpuinfo")
SYSTEM_TOO = ("/proc/meminfo", "/proc/stat", "/proc/filesystems", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
PACKAGE = Path(__file__).parents[1]
# Python reads it as it begins: libraries that try an import see that there is none, where the system would refuse a file.
HIDING = """import sys


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"{{name}} is what the reference is made of: a port does without it", name=name)


sys.meta_path.insert(0, Hidden())
"""


def packages_of(subject: Subject) -> set[str]:
    """Return the packages that a subject is written in."""
    backend = {"keras": {subject.settings.get("on", "tensorflow")}}.get(subject.kind, set())
    return {*KINDS[subject.kind][0], *backend}


def hidden_from(candidate: Subject, reference: Subject, package: str) -> set[str]:
    """Return the packages that a candidate does without: the reference's framework and home, where they are not its own too.

    A port that calls what it is a port of finds nothing there. Where both are written in one framework, see ``shadowing``.
    """
    return ({*packages_of(reference), package} - {""}) - packages_of(candidate) - {"numpy"}


def confined(subject: Subject, folder: Path, hidden: Iterable[str], port: Path) -> Subject:
    """Return the subject as it begins in a process that reads its own folder, the system and Python, less some packages.

    Args:
        folder: that of its files, ``folder/files``; ``folder/home`` is all that it may write into.
        port: the folder that must not be read.
    Raises: ConfigError where that folder lies in one that has to be read.
    """
    home, rules, program = folder / "home", folder / "rules.json", folder / "begin"
    home.mkdir(parents=True)
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(HIDING.format(names=sorted(hidden)), encoding="utf-8")
    python = str(subject.settings.get("python", sys.executable))
    prefixes = {Path(sys.prefix), Path(sys.base_prefix), Path(python).absolute().parents[1]}
    places = [location for name in hidden for location in _locations(name)]
    read, listed = [*SYSTEM, *SYSTEM_TOO, str(folder / "files"), str(folder / "site")], [str(PACKAGE.parent)]
    for allowed in (*sorted(prefixes), PACKAGE, (PACKAGE / "backends").resolve()):
        for path, whole in _less(allowed.resolve(), places):
            (read if whole else listed).append(str(path))
    readable = [path for path in read if port.is_relative_to(Path(path).resolve())]
    if readable:
        raise ConfigError(f"The file of a port must lie outside of {readable[0]}, which each side may read, got {port}.")
    of_graphics = [str(path) for path in Path("/dev").glob("nvidia*")] if "device" in subject.settings else []
    names = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "MPLCONFIGDIR", "KERAS_HOME")
    content: dict[str, Any] = {
        "environment": {
            **dict.fromkeys(names, str(home)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join([str(folder / "site"), str(PACKAGE.parent)]),
        },
        **{"folder": str(home), "read": read, "listed": listed, "write": [str(home), "/dev/null", *of_graphics]},
    }
    rules.write_text(json.dumps(content), encoding="utf-8")
    begin = [sys.executable, "-I", "-S", str(Path(confine.__file__)), str(rules), python]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(begin)} "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    return subject.python(str(subject.settings.get("label", subject.kind)), str(program))


def _locations(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    places = [] if spec is None else [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.origin else [])]
    return [Path(place).resolve() for place in places if place not in ("built-in", "frozen")]


def _less(folder: Path, hidden: list[Path]) -> Iterator[tuple[Path, bool]]:
    """Yield what of a folder is read as a whole, and the folders of which names alone are, so that nothing hidden is read."""
    if folder in hidden:
        return
    if not any(place.is_relative_to(folder) for place in hidden):
        yield folder, True
        return
    yield folder, False
    for child in sorted(folder.iterdir()):
        yield from _less(child, hidden) if child.is_dir() and not child.is_symlink() else [(child, True)]
