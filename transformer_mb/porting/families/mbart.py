"""mBART and mBART-50 as ``transformers`` saves them (Liu et al. 2020): BART with pre-norm and a norm at each side's end."""

from __future__ import annotations

from .bart import COMMON, EMBEDDING_NORMS, FINAL_NORMS, LEARNED, described, names
from .described_folder import row_of
from .hugging_face import LibraryModel

# Heads of the last two are kept and not run: a source is shown to their decoder with its last token first.
CLASSES = tuple(
    f"MBart{one}" for one in ("ForConditionalGeneration", "Model", "ForSequenceClassification", "ForQuestionAnswering")
)
FAMILY = described(
    LibraryModel(model_type="mbart", classes=CLASSES),
    "HF mBART folder",
    names(**LEARNED, **EMBEDDING_NORMS, **FINAL_NORMS),
    fixed={
        **COMMON,
        "norm_position": "pre",
        "final_norm": True,
        "embedding_norm": True,
        "position": "learned",
        "position_offset": 2,
    },
)
ROW = row_of(FAMILY)
