"""T5, T5 1.1, flan-T5 and ByT5 (Raffel et al. 2020) as ``transformers`` saves them: relative positions, RMSNorm, no biases.

The first block of each side holds the table of relative positions that all its blocks read. T5 1.0 ties its output to the table
of tokens and scales what that reads; 1.1 does neither, and gates its feed-forward network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..settings import usual
from .described_folder import row_of
from .description import Description, Named, TokenTables, Values
from .hugging_face import ACTIVATIONS, LibraryModel
from .naming_schemes import LayerNames

FIRST = "{side}.block.0.layer.0.SelfAttention.relative_attention_bias"
SHARE = "share_encoder_decoder_embeddings"  # no field of theirs: both sides always read one table
TABLES = TokenTables(
    sides={"encoder": "encoder.embed_tokens.weight", "decoder": "decoder.embed_tokens.weight"},
    shared="shared.weight",
    output="lm_head.weight",
    share=SHARE,
)
OLD = r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight"  # read by no release
SIZES = {
    **{"num_hiddens": "d_model", "ffn_num_hiddens": "d_ff", "head_size": "d_kv"},
    **{"encoder_num_heads": "num_heads", "decoder_num_heads": "num_heads"},
    **{"encoder_num_layers": "num_layers", "decoder_num_layers": "num_decoder_layers", "max_len": "n_positions"},
    **{"relative_buckets": "relative_attention_num_buckets", "relative_max_distance": "relative_attention_max_distance"},
    **{"pad_id": "pad_token_id", "eos_id": "eos_token_id", "decoder_start_id": "decoder_start_token_id"},
}
RATES = ("dropout", "attention_dropout", "embedding_dropout", "ffn_dropout")


def _attention(ours: str, theirs: str) -> dict[str, str]:
    return {f"{ours}.W_{part}": f"{theirs}.{part}" for part in "qkvo"}


def _feed_forward(place: int) -> dict[str, str]:
    names = {"dense1": "wi_0", "dense3": "wi_1", "dense2": "wo"}
    return {f"ffn.{ours}": f"{place}.DenseReluDense.{theirs}" for ours, theirs in names.items()}


def _norms(count: int) -> dict[str, str]:
    return {f"addnorm{place + 1}.ln": f"{place}.layer_norm" for place in range(count)}


OWN, CROSS = "0.SelfAttention", "1.EncDecAttention"
BLOCKS = {
    "encoder": {**_attention("attention", OWN), **_feed_forward(1), **_norms(2)},
    "decoder": {**_attention("attention1", OWN), **_attention("attention2", CROSS), **_feed_forward(2), **_norms(3)},
}
NAMES = LayerNames(
    block="{side}.block.{number}.layer.",
    blocks=BLOCKS,
    outer={
        **{f"{side}.embedding.weight": name for side, name in TABLES.sides.items()},
        **{f"{side}.relative_bias": FIRST.format(side=side) for side in TABLES.sides},
        **{f"{side}.norm": f"{side}.final_layer_norm" for side in TABLES.sides},
        "decoder.dense.weight": TABLES.output,
    },
)


def modern(values: Values) -> dict[str, Any]:
    """Return the fields with what ``feed_forward_proj`` and the tie of the output say, each as a field of its own."""
    gate, _, kind = ("" if (said := values.get("feed_forward_proj")) is None else str(said)).rpartition("-")
    named = {"dense_act_fn": "gelu_new" if gate and kind == "gelu" else kind or "relu", "is_gated_act": gate == "gated"}
    usual_ones = {"num_decoder_layers": values.get("num_layers"), "n_positions": 1024, "relative_attention_max_distance": 128}
    tied = values.get("tie_word_embeddings") is not False
    return {**usual_ones, "scale_decoder_outputs": tied, **values, **named}


def published(values: Values) -> dict[str, Any]:
    """Return written fields as the library reads them."""
    ours = next(ours for ours, names in ACTIVATIONS.items() if values["dense_act_fn"] in names)
    kind = "gelu" if ours == "gelu_tanh" else ours
    fields = {**values, "feed_forward_proj": f"gated-{kind}" if values["is_gated_act"] else values["dense_act_fn"]}
    return {name: value for name, value in fields.items() if name not in (SHARE, "bos_token_id")}  # T5 has no such token


def unpacked(tensors: Mapping[str, np.ndarray]) -> Named:
    """Return tensors with the one projection of an ungated network called as the first of two."""
    return {name.replace(".DenseReluDense.wi.", ".DenseReluDense.wi_0."): array for name, array in tensors.items()}


def packed(tensors: Mapping[str, np.ndarray]) -> Named:
    """Return tensors as the library calls them."""
    gated = any(re.search(r"\.wi_1\.", name) for name in tensors)
    return dict(tensors) if gated else {name.replace(".wi_0.", ".wi."): array for name, array in tensors.items()}


VOCABULARIES = dict.fromkeys(("source_vocab_size", "target_vocab_size"), ("vocab_size",))
FIXED = {
    **usual("architecture", "norm_affine", "embedding_norm", "position_offset", "token_types", "compat_decode"),
    **{"norm_position": "pre", "norm_kind": "rms_norm", "final_norm": True, "position": "relative", "share_embeddings": True},
    **dict.fromkeys(("encoder_attention_bias", "decoder_attention_bias", "ffn_bias", "output_bias"), False),
    **{"embedding_scale": False, "attention_scale": False},
}


def described(library: LibraryModel, title: str, modern: Callable[[Values], dict[str, Any]] = modern) -> Description:
    """Describe a family that has T5's tensors and fields."""
    forms = "relu", "gelu", "silu", "gated-relu", "gated-gelu", "gated-silu"
    derived: dict[str, Any] = {"switches": {"ffn_gated": "is_gated_act", "output_scale": "scale_decoder_outputs"}}
    rates = {"norm_eps": "layer_norm_epsilon", **dict.fromkeys(RATES, "dropout_rate")}
    changed: dict[str, Any] = {"modern": modern, "published": published, "unpacked": unpacked, "packed": packed}
    layout: dict[str, Any] = {"prefix": "", "names": NAMES, "tables": TABLES, "buffers": (OLD,)}
    fields: dict[str, Any] = {"sizes": SIZES, "rates": rates, "vocabularies": VOCABULARIES, "activation": "dense_act_fn"}
    required = {"feed_forward_proj": forms}
    return Description(library=library, title=title, fixed=FIXED, required=required, **layout, **fields, **derived, **changed)


FAMILY = described(LibraryModel(model_type="t5", classes=("T5ForConditionalGeneration", "T5Model")), "HF T5 folder")
ROW = row_of(FAMILY)
