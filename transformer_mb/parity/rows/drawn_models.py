"""Whole models and searches drawn by the seed: every switch of TransformerConfig and of the loss, sizes at the boundaries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...config import CHOICES, TransformerConfig
from ...errors import ConfigError
from ...layer_options import DEFAULTS
from .drawn_values import LENGTHS, CoveringArray, Row
from .model_cases import ModelCase
from .token_models import STEPS, Search

FLAGS = (
    *("norm_affine", "final_norm", "embedding_norm", "embedding_scale", "share_embeddings", "tie_output"),
    *("attention_scale", "output_scale"),
    *("padding_vector_zero", "encoder_attention_bias", "decoder_attention_bias", "ffn_bias", "ffn_gated"),
    *("output_bias", "pooler"),
)
WORDS = (
    *("architecture", "norm_position", "norm_kind", "activation", "position", "sinusoid_layout", "rotary_layout"),
    *("compat_decode", "decoder_embedding_norm"),
)
CONFIG: dict[str, tuple[Any, ...]] = {
    **{name: CHOICES[name] for name in WORDS},
    **{name: (DEFAULTS[name], not DEFAULTS[name]) for name in FLAGS},
    "norm_eps": (1e-5, 1e-6, 1e-2),
    "pad_id": (DEFAULTS["pad_id"], 0),
    "relative_buckets": (32, 5),
    "relative_max_distance": (128, 20),
    "token_types": (0, 2),
    "position_offset": (0, 2),
    "rotary_base": (10000.0, 10.0),
    "dropout": (0.1, 0.0),
    "attention_dropout": (None, 0.0, 0.3),
    "embedding_dropout": (None, 0.0, 0.3),
    "ffn_dropout": (0.0, 0.2),
    "num_hiddens": (8, 12),
    "head_size": (None, 3),
    "num_kv_heads": (None, 2, 1),
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
    """Make the configuration. Raises ConfigError for what cannot be combined."""
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
    architectures = (architecture for architecture in CHOICES["architecture"] if _shared(row))
    return any(_allowed({"architecture": architecture, **row}) for architecture in architectures)


def _shared(row: Row) -> bool:
    """Tell whether keys serve the heads of both sides, be there one: else three settings would hang together, not pairs."""
    few = int(row.get("num_kv_heads") or 1)
    return all(int(row.get(f"{side}_num_heads", few)) % few == 0 for side in ("encoder", "decoder"))


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


# Not tie_output: there a token makes itself more likely, and hypotheses hold one token.
SEARCH_SWITCHES = (
    *("norm_position", "norm_kind", "activation", "position", "sinusoid_layout", "rotary_layout"),
    *("final_norm", "embedding_norm", "decoder_embedding_norm"),
    *("decoder_num_heads", "decoder_num_layers", "position_offset", "share_embeddings", "output_bias"),
    *("encoder_attention_bias", "decoder_attention_bias", "norm_eps", "norm_affine", "embedding_scale", "ffn_bias"),
    *("relative_buckets", "relative_max_distance", "ffn_gated", "head_size", "attention_scale", "output_scale"),
    "num_kv_heads",
    *("encoder_num_heads", "token_types"),
)
SEARCH: dict[str, tuple[Any, ...]] = {
    # The book's decoding repeats itself: with every step at position 0 its hypotheses hold one token.
    "architecture": tuple(name for name in CHOICES["architecture"] if name != "encoder"),
    **{name: CONFIG[name] for name in SEARCH_SWITCHES},
    "decoder_start_id": (None, 5),
    "eos_id": (DEFAULTS["eos_id"], 7),
    "suppress_ids": ((4,), (1, 4, 9)),
    "beam": (2, 3, 5, 15),  # 15: more than there are tokens
    "length_penalty": (0.6, 0.0, 1.5),
    "max_steps": (STEPS, 3),
}
OF_THE_SEARCH = ("beam", "length_penalty", "max_steps")


def _search_config(row: Row) -> TransformerConfig:
    decoder = row.get("architecture") == "decoder"
    return TransformerConfig(
        source_vocab_size=None if decoder else 13,
        target_vocab_size=13,
        num_hiddens=8,
        ffn_num_hiddens=12,
        encoder_num_layers=1,
        max_len=20,
        **{name: value for name, value in row.items() if name not in OF_THE_SEARCH},
    )


def _search_possible(row: Row) -> bool:
    if not _shared(row):
        return False
    try:
        _search_config(row)
    except ConfigError:
        return False
    return True


SEARCHES = CoveringArray("search", SEARCH, _search_possible)


def drawn_searches(seed: int, beam: bool) -> dict[str, Search]:
    """The seed's one, by its name."""
    (row,) = SEARCHES.share(seed, 1)
    search = Search(_search_config(row), None, max_steps=row["max_steps"])
    if beam:
        search = replace(search, beam=row["beam"], length_penalty=row["length_penalty"])
    return {f"drawn search: {SEARCHES.words(row)}": search}
