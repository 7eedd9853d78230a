"""Whole models drawn by the seed: every switch of TransformerConfig, the loss's, and sizes at the boundaries."""

from __future__ import annotations

from typing import Any

from ...config import CHOICES, TransformerConfig
from ...errors import ConfigError
from ...layer_options import DEFAULTS
from .covering import CoveringArray, Row
from .drawn_values import LENGTHS
from .model_cases import ModelCase

FLAGS = (
    *("norm_affine", "final_norm", "embedding_norm", "embedding_scale", "share_embeddings", "tie_output"),
    *("padding_vector_zero", "encoder_attention_bias", "decoder_attention_bias", "ffn_bias", "output_bias", "pooler"),
)
WORDS = ("architecture", "norm_position", "norm_kind", "activation", "position", "sinusoid_layout", "compat_decode")
CONFIG: dict[str, tuple[Any, ...]] = {
    **{name: CHOICES[name] for name in WORDS},
    **{name: (DEFAULTS[name], not DEFAULTS[name]) for name in FLAGS},
    "norm_eps": (1e-5, 1e-6, 1e-2),
    "pad_id": (DEFAULTS["pad_id"], 0),
    "token_types": (0, 2),
    "position_offset": (0, 2),
    "dropout": (0.1, 0.0),
    "attention_dropout": (None, 0.0, 0.3),
    "embedding_dropout": (None, 0.0, 0.3),
    "ffn_dropout": (0.0, 0.2),
    "num_hiddens": (8, 12),
    "ffn_num_hiddens": (12, 1),
    **{f"{side}_num_heads": (2, 1, 4) for side in ("encoder", "decoder")},
    **{f"{side}_num_layers": (1, 2) for side in ("encoder", "decoder")},
}
SIZES: dict[str, tuple[Any, ...]] = {
    "rows": (3, 1),
    "S": (5, 1, 2, 16, 17),
    "T": (4, 1, 2, 3, 17),
    "V": (13, 5),  # four are pad, bos, eos and unknown
    "spare positions": (True, False),
    "source lens": LENGTHS,
    "target lens": LENGTHS,
    "attention maps": (False, True),
}
LOSS = {"normalization": CHOICES["normalization"], "label_smoothing": (0.0, 0.1)}
SHARE = 6  # of models, for a seed


def _config(row: Row) -> TransformerConfig:
    """Raises ConfigError for what cannot be combined."""
    architecture, V = row.get("architecture", "encoder_decoder"), row.get("V", 13)
    source = V if row.get("share_embeddings") else V - 1 if V > 5 else V
    longest = sorted(row.get(name, 4) for name in ("S", "T"))[-1]
    return TransformerConfig(
        **{"num_hiddens": 8, "ffn_num_hiddens": 12, **{name: row[name] for name in CONFIG if name in row}},
        source_vocab_size=None if architecture == "decoder" else source,
        target_vocab_size=None if architecture == "encoder" else V,
        max_len=longest + 3 * row.get("spare positions", True),
    )


def _possible(row: Row) -> bool:
    """Refuse what the configuration refuses; two settings may need an architecture of their own."""
    return any(_allowed({"architecture": architecture, **row}) for architecture in CHOICES["architecture"])


def _allowed(row: Row) -> bool:
    try:
        _config(row)
    except ConfigError:
        return False
    return True


MODELS = CoveringArray("model", {**CONFIG, **SIZES, **LOSS}, _possible)


def drawn_models(seed: int) -> list[ModelCase]:
    return [_case(number, row) for number, row in enumerate(MODELS.share(seed, SHARE), 1)]


def _case(number: int, row: Row) -> ModelCase:
    config = _config(row)
    return ModelCase(
        f"drawn model {number}: {MODELS.words(row)}",
        config,
        rows=row["rows"],
        source_steps=row["S"],
        target_steps=row["T"],
        loss={name: row[name] for name in LOSS},
        source_lens=row["source lens"],
        target_lens=row["target lens"],
        attention=row["attention maps"] and config.has_decoder,
        every_dtype=number == 1,
    )
