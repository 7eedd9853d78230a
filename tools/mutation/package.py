"""A package whose files may have other texts: what a mistake is made in, imported anew for each and put back after it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from typing import Any

from transformer_mb.registry import load_backend_class

from .frameworks import classes_by_name
from .sources import ROOT, SHARED, module

# What is imported anew with what all share, since it took something from there.
ABOVE = tuple(
    f"transformer_mb.{name}"
    for name in (
        *("backend", "native_backend", "trainer", "decoding", "positions", "masks", "initialization", "distributed"),
        # They give a search its ``Sampling``, which must be of the class that the search knows.
        *(f"parity.computing.{name}" for name in ("computations", "decoding", "life")),
    )
)
# Imported once: what it does to its framework can be done once.
KEPT = ("transformer_mb.backends.mxnet.shim",)


class Package:
    """The modules of a backend's package, or of what all share: as they are, or with the text of some files replaced."""

    def __init__(self, part: str, backend: str):
        self.part, self.backend = part, backend
        self.names = (f"transformer_mb.backends.{self.backend}", *(ABOVE if part == SHARED else ()))
        load_backend_class(self.backend)
        self.original = self._loaded()
        self.by_name = dict(classes_by_name(self.backend))
        self.replaced: dict[str, str] = {}
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]

    def _loaded(self) -> dict[str, Any]:
        ours = tuple(f"{name}." for name in self.names)
        return {name: loaded for name, loaded in sys.modules.items() if f"{name}.".startswith(ours)}

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in self.replaced:
            return None
        place = ROOT / name.replace(".", "/")
        file = str(place / "__init__.py" if place.is_dir() else place.with_suffix(".py"))
        return spec_from_file_location(name, file, loader=_Replacing(name, file, self.replaced[name]))

    def anew(self, texts: Mapping[str, str] | None = None) -> Any:
        """The class of the backend, imported anew, some files having other texts. ``restore`` is to follow."""
        self.replaced = {module(self.part, file): text for file, text in (texts or {}).items()}
        self._forget(KEPT)
        return load_backend_class(self.backend)

    def restore(self) -> None:
        self.replaced = {}
        self._forget()
        sys.modules.update(self.original)
        classes_by_name(self.backend).update(self.by_name)
        for name, original in self.original.items():
            package, _, leaf = name.rpartition(".")
            setattr(sys.modules[package], leaf, original)

    def _forget(self, but: Sequence[str] = ()) -> None:
        for name in self._loaded().keys() - set(but):
            del sys.modules[name]
            package, _, leaf = name.rpartition(".")
            if package in sys.modules:
                vars(sys.modules[package]).pop(leaf, None)


class _Replacing(SourceFileLoader):
    def __init__(self, name: str, path: str, text: str):
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> Any:
        return compile(self.text, self.path, "exec", dont_inherit=True)
