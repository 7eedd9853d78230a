"""Families that are written and never read back as models: one module each, which ends in its row (see ``kinds.Family``)."""

from __future__ import annotations

from . import ctranslate2, onnx

EXPORTS = {module.ROW.name: module.ROW for module in (onnx, ctranslate2)}
