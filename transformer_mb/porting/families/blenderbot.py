"""Blenderbot as ``transformers`` saves it (Roller et al. 2021): pre-norm, learned positions from row 0 on."""

from __future__ import annotations

from .bart import COMMON, FINAL_NORMS, LEARNED, described, names
from .described_folder import row_of
from .hugging_face import LibraryModel

FAMILY = described(
    LibraryModel(model_type="blenderbot", classes=("BlenderbotForConditionalGeneration", "BlenderbotModel")),
    "HF Blenderbot folder",
    names(**LEARNED, **FINAL_NORMS),
    fixed={
        **COMMON,
        "norm_position": "pre",
        "final_norm": True,
        "embedding_norm": False,
        "position": "learned",
        "position_offset": 0,
    },
)
ROW = row_of(FAMILY)
