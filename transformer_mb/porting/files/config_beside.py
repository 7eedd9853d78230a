"""The configuration beside a file whose format has no place for it: ``model.pt.config.json`` beside ``model.pt``.

The name is that of the whole file, since models of several formats lie in one folder. A digest of the tensors ties it to its
file: trained on or replaced, the file is another model, of which the configuration may not hold.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from ...checkpoint.files import config_of, described_config, read_object, write_text
from ...config import TransformerConfig
from ...errors import CheckpointError, PortError
from ...files.tensors import digest
from ..formats import FORMATS
from ..model import NativeFile

SUFFIX, DIGEST = ".config.json", "tensors_sha256"


def beside(path: Path) -> Path:
    return path.with_name(f"{path.name}{SUFFIX}")


def write_beside(path: Path, native: NativeFile, config: TransformerConfig) -> None:
    if FORMATS[native.format].records:
        return
    described = {**json.loads(described_config(config)), DIGEST: digest(native.tensors).hex()}
    write_text(beside(path), json.dumps(described, indent=2))


def with_recorded(native: NativeFile, path: Path) -> NativeFile:
    """The file with what lies beside it; raises PortError when that is no configuration."""
    if native.settings or not os.path.lexists(beside(path)):
        return native
    try:
        described = read_object(beside(path))
        config = config_of(described, beside(path))
    except CheckpointError as error:
        raise PortError(f"{error} It says how {path.name} is configured: mend it or move it away.") from None
    if described.get(DIGEST) != digest(native.tensors).hex():
        doubt = (
            f"{beside(path).name} is there but was not used, for it belongs to other tensors: {path.name} was changed or "
            "damaged since it was written."
        )
        return replace(native, doubt=doubt)
    return replace(native, settings=config.to_dict())
