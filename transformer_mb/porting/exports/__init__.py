"""Families of kind ``export``, which are written and never read back as models; rows as in ``families``.

Each module offers ``write(model: PortedModel, folder: Path) -> None``, which fills an empty folder that the caller puts in
place once the proof holds, ``recognize(folder: Path) -> bool``, and ``read_back(model, folder)``: the stored weights by
canonical name, and the names of what cannot be explained.
"""

from __future__ import annotations

from ...checkpoint.files import TOKENIZERS, VOCABULARIES
from ..families import Family

EXPORTS = {
    row.name: row
    for row in (
        Family(
            name="onnx",
            title="ONNX encoder and cached decoder step",
            kind="export",
            runs="proof.reference_runs.onnx:run",
            requires=("onnx", "onnxruntime"),
            files=("encoder.onnx*", "decoder.onnx*", *VOCABULARIES.values(), *TOKENIZERS),
        ),
        Family(
            name="ctranslate2",
            title="CTranslate2 folder",
            kind="export",
            runs="proof.reference_runs.ctranslate2:run",
            requires=("ctranslate2",),
            files=("config.json", "model.bin", "*vocabulary.json", "*vocabulary.txt", "vmap.txt", *TOKENIZERS),
            hides=("encoder",),
        ),
    )
}
