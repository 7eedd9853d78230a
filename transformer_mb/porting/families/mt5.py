"""mT5 (Xue et al. 2021) as ``transformers`` saves it: T5 1.1 of many languages, whose output is never scaled."""

from __future__ import annotations

from typing import Any

from . import t5
from .described_folder import row_of
from .description import Values
from .hugging_face import LibraryModel


def modern(values: Values) -> dict[str, Any]:
    """Return T5's fields; what the output projection reads is not scaled, tied or not."""
    return {**t5.modern(values), "scale_decoder_outputs": False}


FAMILY = t5.described(
    LibraryModel(model_type="mt5", classes=("MT5ForConditionalGeneration", "MT5Model")), "HF mT5 folder", modern=modern
)
ROW = row_of(FAMILY)
