"""Formats that are written and never read back, as data.

Each module offers ``export(model: PortedModel, destination: Path) -> None``: ``destination`` is an empty folder that the
caller puts in place once the proof holds; it raises PortError for a model that the format cannot hold.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Export:
    """``runs`` and ``requires`` as in ``families.Family``: what runs the exported model for the proof.

    ``hides`` are outputs that the engine computes and need not show.
    """

    name: str
    title: str
    runs: str
    requires: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()

    @property
    def module(self) -> Any:
        return importlib.import_module(f"{__name__}.{self.name}")


EXPORTS = {
    row.name: row
    for row in (
        Export(
            name="onnx",
            title="ONNX encoder and cached decoder step",
            runs="proof.reference_runs.onnx:run",
            requires=("onnx", "onnxruntime"),
        ),
        Export(
            name="ctranslate2",
            title="CTranslate2 folder",
            runs="proof.reference_runs.ctranslate2:run",
            requires=("ctranslate2",),
            hides=("encoder",),
        ),
    )
}
