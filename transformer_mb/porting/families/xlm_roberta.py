"""XLM-RoBERTa as ``transformers`` saves it (Conneau et al. 2020): RoBERTa under another name, for a hundred languages.

Its sequences begin with ``<s>`` and end with ``</s>``; the pieces are SentencePiece's, numbered from 3 on, and the last row of
the table is ``<mask>``.
"""

from __future__ import annotations

from .described_folder import row_of
from .roberta import kin

MODEL_TYPE = "xlm-roberta"
CLASSES = "XLMRoberta"
TITLE = "HF XLM-RoBERTa folder"


FAMILY = kin(MODEL_TYPE, CLASSES, TITLE)
ROW = row_of(FAMILY)
