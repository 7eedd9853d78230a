"""Decoding drawn by the seed: another model, beam and length penalty for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...config import CHOICES, TransformerConfig
from ...layer_options import DEFAULTS
from .covering import CoveringArray, Row
from .drawn_models import CONFIG
from .token_models import STEPS, Search

# Not tie_output: there a token makes itself more likely, and hypotheses hold one token.
SWITCHES = (
    *("norm_position", "norm_kind", "activation", "position", "sinusoid_layout", "final_norm", "embedding_norm"),
    *("decoder_num_heads", "decoder_num_layers", "position_offset", "share_embeddings", "output_bias"),
    *("encoder_attention_bias", "decoder_attention_bias", "norm_eps", "norm_affine", "embedding_scale", "ffn_bias"),
    *("encoder_num_heads", "token_types"),
)
SETTINGS: dict[str, tuple[Any, ...]] = {
    # The book's decoding repeats itself: with every step at position 0 its hypotheses hold one token.
    "architecture": tuple(name for name in CHOICES["architecture"] if name != "encoder"),
    **{name: CONFIG[name] for name in SWITCHES},
    "decoder_start_id": (None, 5),
    "eos_id": (DEFAULTS["eos_id"], 7),
    "suppress_ids": ((4,), (1, 4, 9)),
    "beam": (2, 3, 5, 15),  # 15: more than there are tokens
    "length_penalty": (0.6, 0.0, 1.5),
    "max_steps": (STEPS, 3),
}
OF_THE_SEARCH = ("beam", "length_penalty", "max_steps")


def _config(row: Row) -> TransformerConfig:
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


def _possible(row: Row) -> bool:
    return not (row.get("architecture") == "decoder" and (row.get("share_embeddings") or row.get("token_types")))


SEARCHES = CoveringArray("search", SETTINGS, _possible)


def drawn_searches(seed: int, beam: bool) -> dict[str, Search]:
    """The seed's one, by its name."""
    (row,) = SEARCHES.share(seed, 1)
    search = Search(_config(row), None, max_steps=row["max_steps"])
    if beam:
        search = replace(search, beam=row["beam"], length_penalty=row["length_penalty"])
    return {f"drawn search: {SEARCHES.words(row)}": search}
