"""Backends by name, imported only when they are asked for."""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .built_in import BUILT_IN, DEFAULT, Entry
from .errors import BackendError, ConfigError
from .extras import install_command
from .fields import did_you_mean
from .machine.processor import tell_openblas

if TYPE_CHECKING:
    from .backend import Backend
    from .distributed import Place, Processes

VARIABLE = "TRANSFORMER_MB_BACKEND"
ENTRY_POINTS = "transformer_mb.backends"
# Called when a backend, and with it its framework, has just been imported.
after_import: list[Callable[[], None]] = []


# What the frameworks' users call them too.
OTHER_NAMES = {
    "np": "numpy",
    "pytorch": "torch",
    "tf": "tensorflow",
    "keras": "tensorflow",
    "paddlepaddle": "paddle",
    "mx": "mxnet",
    "gluon": "mxnet",
    "flax": "jax",
    "nnx": "jax",
}


def entries() -> dict[str, Entry]:
    """The built-in backends, then those of other packages by entry point."""
    found = dict(BUILT_IN)
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        package = point.dist.name if point.dist else point.value
        found.setdefault(point.name, Entry(point.value, (), f"pip install {package}"))
    return found


def requested_name(name: str | None = None) -> str:
    """The explicit argument, then the environment variable, then ``numpy``; as ``canonical_name`` gives it."""
    if not name and (said := os.environ.get(VARIABLE)):
        return canonical_name(said, f" from the environment variable {VARIABLE}")
    return canonical_name(name or DEFAULT)


def canonical_name(name: str, origin: str = "") -> str:
    """The name by which a backend is recorded; upper case and the names of OTHER_NAMES are understood. Raises BackendError."""
    known = entries()
    lower = str(name).lower()
    for candidate in (name, lower, OTHER_NAMES.get(lower, "")):
        if candidate in known:
            return candidate
    suggestion = did_you_mean(lower, known, OTHER_NAMES)
    raise BackendError(f"The backend must be one of {', '.join(known)}, got {name!r}{origin}.{suggestion}")


def load_backend_class(name: str) -> type[Backend]:
    """The class of a backend; raises BackendError with the reason and the remedy."""
    name = canonical_name(name)
    entry = entries()[name]
    missing = [package for package in entry.requires if importlib.util.find_spec(package) is None]
    if missing:
        are, them = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise BackendError(
            f"The backend {name!r} cannot be used: {', '.join(missing)} {are} not installed. Install {them} with: "
            f"{_install(name, entry)}. Installed here: {', '.join(installed())}."
        )
    try:
        return _imported(entry.module).BACKEND
    except BackendError:  # which says by itself why not here
        raise
    except Exception as error:
        raise BackendError(
            f"The backend {name!r} cannot be used: importing {entry.module} failed with "
            f"{type(error).__name__}: {error}. Reinstall it with: {_install(name, entry)}."
        ) from error


def _imported(module: str) -> Any:
    """A module of a framework's. What it makes stays: to look for garbage meanwhile takes a fifth of JAX's import."""
    if module in sys.modules:
        return importlib.import_module(module)
    collected = gc.isenabled()
    gc.disable()
    try:
        imported = importlib.import_module(module)
    finally:
        if collected:
            gc.enable()
    for told in after_import:
        told()
    return imported


def _install(name: str, entry: Entry) -> str:
    return entry.install or install_command(name)


def get_backend(name: str | None = None, device: Any = None, dtype: Any = "float32") -> Backend:
    """Return a backend on a device in a dtype.

    Args:
        name: None reads ``TRANSFORMER_MB_BACKEND``, else ``numpy``. Upper case, and names such as ``pytorch`` and ``keras``
            (see ``OTHER_NAMES``), are understood.
    Raises:
        BackendError: unknown or not usable here; DtypeError, DeviceError: not offered.
    """
    tell_openblas()
    return load_backend_class(requested_name(name))(device=device, dtype=dtype)


def join_processes(name: str, place: Place, shard: bool = False) -> Processes:
    """Meet the other processes of a training by the means of a backend; before anything else of its framework is used.

    Raises BackendError: unknown or not usable here, or of another package and without a module ``distributed``;
    or one that cannot keep weights in parts (``shard``); DistributedError: some of them did not come.
    """
    load_backend_class(name)
    module = f"{entries()[name].module.partition(':')[0]}.distributed"
    if importlib.util.find_spec(module) is None:
        raise BackendError(f"The backend {name!r} trains in one process, since it has no {module}, got {place.size} processes.")
    return importlib.import_module(module).join(place, shard)


def chosen_backend(backend: str | Backend | None, device: Any, dtype: Any) -> Backend:
    """A backend by its name (None: the usual one) in a dtype (None: float32); or a Backend, which has its own of both."""
    if backend is None or isinstance(backend, str):
        return get_backend(backend, device, dtype or "float32")
    if device is not None or dtype is not None:
        raise ConfigError("A Backend object has its own device and dtype: give these only with a backend's name.")
    return backend


def decoding_backend(backend: str | Backend | None, device: Any, dtype: Any) -> tuple[Backend, bool]:
    """Choose a backend as ``chosen_backend`` does, and tell whether ``int8`` was asked for: other linear layers in float32."""
    int8 = dtype == "int8"
    return chosen_backend(backend, device, None if int8 else dtype), int8


def installed() -> list[str]:
    """Names whose packages are present, without importing them."""
    return [n for n, entry in entries().items() if all(importlib.util.find_spec(p) for p in entry.requires)]


def backend_of(model: Any) -> Backend:
    """The backend in whose module the class of a model, or a class that it derives from, is defined.

    It stands for the framework alone, on its default device: reading a model's weights needs no more. Raises
    BackendError for a model that another class wraps, such as a compiled or a distributed one.
    """
    for ancestor in type(model).__mro__:
        for name, entry in entries().items():
            package = entry.module.partition(":")[0]
            if ancestor.__module__ == package or ancestor.__module__.startswith(f"{package}."):
                return load_backend_class(name)()
    raise BackendError(
        f"The model must be one that a backend made ({', '.join(entries())}), got a {type(model).__module__}."
        f"{type(model).__qualname__}. Give its backend, or the model inside what wraps it."
    )
