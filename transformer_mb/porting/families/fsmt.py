"""FSMT, the models of WMT19 (Ng et al. 2019), as ``transformers`` saves them: post-norm, fairseq's sinusoids, two vocabularies.

The output projection lies inside of the decoder and is a tensor of its own, also where it equals the decoder's table.
"""

from __future__ import annotations

from ..settings import usual
from .bart import COMMON, LEARNED, SIZES, TABLES, described, names
from .described_folder import row_of
from .description import TokenTables
from .hugging_face import LibraryModel

OUTPUT = "decoder.output_projection.weight"
FAMILY = described(
    LibraryModel(model_type="fsmt", classes=("FSMTForConditionalGeneration", "FSMTModel")),
    "HF FSMT folder",
    names(**{"decoder.dense.weight": OUTPUT}),
    tables=TokenTables(sides=TABLES.sides, output=OUTPUT, tied_by_itself=False),
    sizes=SIZES,
    vocabularies={"source_vocab_size": ("src_vocab_size",), "target_vocab_size": ("tgt_vocab_size",)},
    sinusoids=tuple(LEARNED.values()),
    absent={"scale_embedding": True, "bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 1, "decoder_start_token_id": 2},
    required={"pad_token_id": (1,)},  # positions begin after its id
    fixed={
        **COMMON,
        **usual("norm_position", "final_norm", "embedding_norm"),
        "position": "sinusoidal",
        "sinusoid_layout": "fairseq",
        "position_offset": 2,
        "output_bias": False,
        "share_embeddings": False,
    },
)
ROW = row_of(FAMILY)
