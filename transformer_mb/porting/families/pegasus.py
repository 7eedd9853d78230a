"""Pegasus as ``transformers`` saves it (Zhang et al. 2020): pre-norm, a norm at each side's end, sines before cosines."""

from __future__ import annotations

from .bart import COMMON, FINAL_NORMS, LEARNED, described, names
from .described_folder import row_of
from .hugging_face import LibraryModel

FAMILY = described(
    LibraryModel(model_type="pegasus", classes=("PegasusForConditionalGeneration", "PegasusModel")),
    "HF Pegasus folder",
    names(**FINAL_NORMS),
    sinusoids=tuple(LEARNED.values()),
    fixed={
        **COMMON,
        "norm_position": "pre",
        "final_norm": True,
        "embedding_norm": False,
        "position": "sinusoidal",
        "sinusoid_layout": "halves",
        "position_offset": 0,
    },
)
ROW = row_of(FAMILY)
