"""The containers: one module each, which ends in its row (see ``kinds.Format``)."""

from __future__ import annotations

from ..kinds import Format
from . import flax, keras, mxnet, npz, paddle, safetensors, tensorflow, torch

MODULES = (torch, paddle, mxnet, keras, flax, npz, safetensors, tensorflow)
FORMATS: dict[str, Format] = {module.ROW.name: module.ROW for module in MODULES}
