"""Blenderbot-small (Roller et al. 2021) as ``transformers`` saves it: post-norm, and a decoder that norms tokens alone.

Its encoder normalises the sum of tokens and positions, as BART's does; its decoder adds the positions to tokens that are
normalised already. Releases 4.57 and 5.23 of the library leave out the scale of the decoder's tokens (``scale_embedding``),
which earlier ones have; it is here, and the proof puts it back into the library's class.
"""

from __future__ import annotations

from ..settings import usual
from .bart import COMMON, EMBEDDING_NORMS, LEARNED, described, names
from .described_folder import row_of
from .hugging_face import LibraryModel

FAMILY = described(
    LibraryModel(model_type="blenderbot-small", classes=("BlenderbotSmallForConditionalGeneration", "BlenderbotSmallModel")),
    "HF Blenderbot-small folder",
    names(**LEARNED, **EMBEDDING_NORMS),
    fixed={
        **COMMON,
        **usual("norm_position", "final_norm", "position_offset"),
        "embedding_norm": True,
        "decoder_embedding_norm": "tokens",
        "position": "learned",
    },
)
ROW = row_of(FAMILY)
