"""The configuration beside a file whose format has no place for it: ``model.pt.config.json`` beside ``model.pt``.

The name is that of the whole file, since models of several formats lie in one folder. A digest of the tensors ties it to its
file: trained on or replaced, the file is another model, of which the configuration may not hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..checkpoint_files import FORMAT, FORMAT_VERSION, described_config, write_text
from ..config import TransformerConfig
from ..errors import ConfigError, PortError
from .ported import Arrays, NativeFile

SUFFIX, DIGEST = ".config.json", "tensors_sha256"
INSIDE = ("keras", "safetensors")  # these formats hold it themselves
LARGEST = 1 << 20  # bytes


def beside(path: Path) -> Path:
    return path.with_name(f"{path.name}{SUFFIX}")


def write_beside(path: Path, native: NativeFile, config: TransformerConfig) -> None:
    if native.format in INSIDE:
        return
    described = {**json.loads(described_config(config)), DIGEST: digest(native.tensors)}
    write_text(beside(path), json.dumps(described, indent=2))


def with_recorded(native: NativeFile, path: Path) -> NativeFile:
    """The file with what lies beside it; raises PortError when that is no configuration."""
    if native.settings or not os.path.lexists(beside(path)):
        return native
    described = _object(beside(path))
    if described.get(DIGEST) != digest(native.tensors):
        note = f"{beside(path).name} was not used: it belongs to other tensors than those of {path.name}."
        return replace(native, notes=(*native.notes, note))
    try:
        config = TransformerConfig.from_dict(described.get("config"))  # type: ignore[arg-type]
    except (ConfigError, TypeError) as error:
        raise PortError(f"{beside(path)} holds no valid configuration: {error}") from None
    return replace(native, settings=config.to_dict())


def digest(tensors: Arrays) -> str:
    """SHA-256 of names, dtypes, shapes and bytes, in the order of the names, which some formats sort."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        array = np.asarray(tensors[name], order="C")
        found.update(json.dumps([name, array.dtype.str, list(array.shape)]).encode())
        found.update(array.tobytes())
    return found.hexdigest()


def _object(path: Path) -> dict[str, object]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            text = file.read(LARGEST + 1) if regular else b""
        described = json.loads(text) if regular and len(text) <= LARGEST else None
    except OSError as error:
        raise PortError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise PortError(f"{path} must be JSON, but it is not: {error}.") from None
    version = described.get("format_version") if isinstance(described, dict) else None
    if not isinstance(described, dict) or described.get("format") != FORMAT or version != FORMAT_VERSION:
        raise PortError(
            f'{path} must be a file of at most {LARGEST} bytes with "format": "{FORMAT}" and "format_version": '
            f"{FORMAT_VERSION}, but it is not. It says how {path.name.removesuffix(SUFFIX)} is configured: mend it or move it "
            "away."
        )
    return described
