"""MarianMT as ``transformers`` saves it (Junczys-Dowmunt et al. 2018): post-norm, biases everywhere, sines before cosines.

``final_logits_bias`` is the output projection's bias. ``forced_eos_token_id`` has no place in the canonical form: it makes
``generate`` end its longest output with ``</s>``, where ours is cut off.
``transformers`` knows no other order of normalisation for this family, whatever ``normalize_before`` says.
"""

from __future__ import annotations

from dataclasses import replace

from ..settings import usual
from . import bart
from .described_folder import row_of
from .hugging_face import LibraryModel
from .marian_tokenizers import both_vocabularies, without_tokenizers, write_vocabularies

MODEL = LibraryModel(model_type="marian", classes=("MarianMTModel", "MarianModel"))
TABLES = replace(bart.TABLES, share="share_encoder_decoder_embeddings")
FIXED = {
    **bart.COMMON,
    **usual("norm_position", "final_norm", "embedding_norm", "position"),
    "sinusoid_layout": "halves",
    "position_offset": 0,
}
FAMILY = bart.described(
    MODEL,
    "HF MarianMT folder",
    bart.names(),
    tables=TABLES,
    fixed=FIXED,
    vocabularies={"source_vocab_size": ("vocab_size",), "target_vocab_size": ("decoder_vocab_size", "vocab_size")},
    sinusoids=tuple(bart.LEARNED.values()),
    absent={},
    read_words=lambda folder, config, settings: both_vocabularies(folder, config),
    write_words=write_vocabularies,
    note=without_tokenizers,
)
ROW = row_of(FAMILY)
read, write = ROW.read, ROW.write
