"""The files that each side is made of, and a copy of them in which it runs: neither side sees the other's."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..check import Subject
from ..errors import ConfigError
from ..files.regular import read_regular_file
from .port_file import Port

LARGEST = 8 << 20  # bytes of a source file
FILES = 1_000  # that a side may be made of


@dataclass(frozen=True)
class Side:
    """A subject with the contents of its files by their path beside the port's file; none where a package has it."""

    subject: Subject
    files: Mapping[str, bytes]
    package: str = ""

    def digests(self) -> dict[str, str]:
        return {path: hashlib.sha256(content).hexdigest() for path, content in sorted(self.files.items())}

    def copied(self, folder: Path) -> Subject:
        """Write its files into a folder, and return the subject that is made there."""
        for path, content in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        where, _, attribute = self.subject.factory.rpartition(":")
        return replace(self.subject, factory=f"{folder / where}:{attribute}") if self.files else self.subject


def both_sides(port: Port) -> tuple[Side, Side]:
    """Read what the reference and the candidate are made of.

    Raises: ConfigError where the candidate is no file beside the port's, or is made of what the reference is made of.
    """
    folder = port.path.parent
    for name, subject in (("REFERENCE", port.reference), ("CANDIDATE", port.candidate)):
        if "python" in subject.settings:
            raise ConfigError(f"{name} must be computed by the judge's own interpreter, got python({subject.label!r}, ...).")
    shared = {_shared(folder, name, port) for name in port.shared}
    reference, candidate = (_files(folder, subject) for subject in (port.reference, port.candidate))
    if not candidate:
        raise ConfigError(f"CANDIDATE must be made in a file beside {port.path.name}, got {port.candidate.factory}.")
    common = sorted(str(path.relative_to(folder)) for path in (reference & candidate) - shared)
    if common:
        raise ConfigError(
            f"The candidate must not be made of the reference's files, got {', '.join(common)}. Where both need one, such as a "
            f"table of sizes, name it in SHARED."
        )
    sides = []
    for subject, files in ((port.reference, reference), (port.candidate, candidate | shared)):
        contents = {str(path.relative_to(folder)): bytes(_read(path)) for path in sorted(files)}
        sides.append(Side(_beside(subject, folder) if files else subject, contents, "" if files else _package(subject)))
    if set(sides[0].digests().values()) & set(sides[1].digests().values()) - {_digest(path) for path in shared}:
        raise ConfigError("The candidate must not hold a copy of one of the reference's files, got one.")
    return sides[0], sides[1]


def _shared(folder: Path, name: str, port: Port) -> Path:
    path = (folder / name).resolve()
    of_the_reference = _source(folder, port.reference.factory.rpartition(":")[0])
    if not path.is_relative_to(folder) or not path.is_file() or path == of_the_reference:
        raise ConfigError(f"SHARED must name files beside {port.path.name}, and not the reference's own, got {name!r}.")
    return path


def _beside(subject: Subject, folder: Path) -> Subject:
    where, _, attribute = subject.factory.rpartition(":")
    path = _source(folder, where)
    return replace(subject, factory=f"{path.relative_to(folder)}:{attribute}") if path else subject


def _package(subject: Subject) -> str:
    return subject.factory.rpartition(":")[0].partition(".")[0]


def _files(folder: Path, subject: Subject) -> set[Path]:
    """Return the file of a subject and all that it imports of what lies beside it; nothing where a package has it."""
    path = _source(folder, subject.factory.rpartition(":")[0])
    if path is None:
        if importlib.util.find_spec(_package(subject)) is None:
            raise ConfigError(f"The factory of a subject must be in a file beside the port's or in a package, got {subject}.")
        return set()
    found: set[Path] = set()
    todo = [path]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += [other for name in _imported(path) for other in _modules(path.parent, name)]
        if len(found) > FILES:
            raise ConfigError(f"{subject} must be made of at most {FILES} files.")
    return found


def _source(folder: Path, where: str) -> Path | None:
    """Return the file of a factory's place, which is a path or a module's name; None of what does not lie beside."""
    path = Path(where) if where.endswith(".py") else next(iter(_modules(folder, where)[::-1]), None)
    if path is None:
        return None
    path = (folder / path).resolve()
    if not path.is_file() or not path.is_relative_to(folder):
        raise ConfigError(f"A factory's file must lie beside the port's, in {folder}, got {where}.")
    return path


def _modules(folder: Path, name: str) -> list[Path]:
    """Return the files that an import of a dotted name would read in a folder: packages on the way, then the module."""
    found, place = [], folder
    for part in name.split("."):
        options = [place / f"{part}.py", place / part / "__init__.py"]
        found += [option for option in options if option.is_file()][:1]
        place = place / part
    return [path.resolve() for path in found]


def _imported(path: Path) -> Iterator[str]:
    """Yield the names of what a file imports, by reading it; of relative imports those in its own folder."""
    try:
        tree = ast.parse(bytes(_read(path)))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{path} must be Python, got {error}.") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            of = f"{node.module}." if node.module else ""
            yield from (*((node.module,) if node.module else ()), *(f"{of}{alias.name}" for alias in node.names))


def _read(path: Path) -> bytearray:
    try:
        return read_regular_file(path, LARGEST)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from None


def _digest(path: Path) -> str:
    return hashlib.sha256(_read(path)).hexdigest()


def names_in(side: Side, name: str) -> list[str]:
    """Return the files of a side that use a name which is none of their own: as Python's or, but for docstrings, in text."""
    return [path for path, content in side.files.items() if _uses(ast.parse(content), name)]


def _uses(tree: ast.Module, name: str) -> bool:
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said and name in node.value:
            return True
        if name in {getattr(node, "attr", None), node.name if isinstance(node, ast.alias) else None}:
            return True
        if isinstance(node, ast.Name) and node.id == name and name not in own:
            return True
    return False
