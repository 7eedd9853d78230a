"""Tensors of the D2L family, run by the backend of the framework whose file they are of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ....config import TransformerConfig
from ....registry import get_backend
from ...families import d2l
from ...formats import FORMATS
from ...model import NativeFile
from ..probe import parts, run_backend, run_model


def run(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """On the tensors of a source; or on a file that was just written, loaded by the ``lines`` that its users are given."""
    config, format_name = TransformerConfig.from_dict(settings["config"]), settings["format"]
    name = FORMATS[format_name].backend
    backend = get_backend(name)
    batch, tensors = parts(arrays)
    ran = f"our {name} backend ({name} {backend.version()})"
    if settings.get("lines"):
        names: dict[str, Any] = {}
        exec("\n".join(settings["lines"]), names)
        return run_model(backend, names["model"], batch), {"ran": f"{ran}, loaded by the lines below"}
    if "path" in settings:
        tensors = FORMATS[format_name].native_loader.load_natively(Path(settings["path"]))
    native = NativeFile(format=format_name, tensors=tensors, settings=config.to_dict())
    model = d2l.read(native, settings["given"])
    return run_backend(backend, model.config, model.weights, batch), {"ran": ran}
