"""Families that are written and never read back as models: one module each, which ends in its row (see ``kinds.Family``)."""

from __future__ import annotations

from ..kinds import Family
from . import ctranslate2, onnx

EXPORTS: dict[str, Family] = {module.ROW.name: module.ROW for module in (onnx, ctranslate2)}
