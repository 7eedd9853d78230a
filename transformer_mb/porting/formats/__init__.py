"""The containers: one module each, which ends in its row (see ``kinds.Format``)."""

from __future__ import annotations

from . import flax, keras, mxnet, npz, paddle, safetensors, tensorflow, torch

FORMATS = {module.ROW.name: module.ROW for module in (torch, paddle, mxnet, keras, flax, npz, safetensors, tensorflow)}
