"""M2M-100 and NLLB as ``transformers`` saves them (Fan et al. 2021): pre-norm, fairseq's sinusoids from row 2 on.

A source begins with the token of its language, and a target with that of its own after the first token.
"""

from __future__ import annotations

from dataclasses import replace

from .bart import COMMON, FINAL_NORMS, LEARNED, TABLES, described, names
from .described_folder import row_of
from .hugging_face import LibraryModel

FAMILY = described(
    LibraryModel(model_type="m2m_100", classes=("M2M100ForConditionalGeneration", "M2M100Model")),
    "HF M2M-100 and NLLB folder",
    names(**FINAL_NORMS),
    tables=replace(TABLES, bias=""),
    sinusoids=(*LEARNED.values(), *(f"{name}s" for name in LEARNED.values())),
    absent={"scale_embedding": True},
    required={"pad_token_id": (1,)},  # positions begin after its id
    fixed={
        **COMMON,
        "norm_position": "pre",
        "final_norm": True,
        "embedding_norm": False,
        "position": "sinusoidal",
        "sinusoid_layout": "fairseq",
        "position_offset": 2,
        "output_bias": False,
    },
)
ROW = row_of(FAMILY)
