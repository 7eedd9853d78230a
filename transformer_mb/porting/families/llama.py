"""Llama as ``transformers`` saves it (Touvron et al. 2023): a decoder, pre-norm by root mean squares, rotary, a gated network.

Llama 1, 2 and 3, and what has their layers, such as TinyLlama. What stretches its positions (``rope_scaling``, as Llama 3.1
does) is refused by the name of that field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..settings import usual
from .described_folder import row_of
from .description import Description, TokenTables
from .hugging_face import LibraryModel
from .naming_schemes import LayerNames
from .task_layouts import linear, on_one_state

BLOCK = {
    "addnorm1.ln": "input_layernorm",
    **{f"attention1.W_{letter}": f"self_attn.{letter}_proj" for letter in "qkvo"},
    "addnorm3.ln": "post_attention_layernorm",
    "ffn.dense1": "mlp.gate_proj",
    "ffn.dense3": "mlp.up_proj",
    "ffn.dense2": "mlp.down_proj",
}
TABLES = TokenTables(sides={"decoder": "embed_tokens.weight"}, output="lm_head.weight", tied_by_itself=False)
OUTER = {
    "decoder.embedding.weight": TABLES.sides["decoder"],
    "decoder.norm": "norm",
    "decoder.dense.weight": TABLES.output,
}
USUAL_BASE = 10000.0


def modern(values: Mapping[str, Any]) -> dict[str, Any]:
    """Say what a config.json leaves to the class, and take apart what release 5 says of rotary positions in one field."""
    own = {name: value for name, value in values.items() if value is not None}
    told = own.pop("rope_parameters", own.get("rope_scaling"))
    told = told if isinstance(told, dict) else {}
    stretched = told.get("rope_type", told.get("type", "default")) != "default" or told.get("partial_rotary_factor", 1) != 1
    scaling = {"rope_scaling": told} if stretched else {}
    own.pop("rope_scaling", None)
    width, heads = own.get("hidden_size"), own.get("num_attention_heads")
    filled = {"pad_token_id": own.get("eos_token_id"), "num_key_value_heads": heads}
    if isinstance(width, int) and isinstance(heads, int) and heads > 0:
        filled["head_dim"] = width // heads
    return {**filled, **own, **scaling, "rope_theta": told.get("rope_theta", own.get("rope_theta", USUAL_BASE))}


FIXED = {
    **usual("norm_affine", "embedding_norm", "attention_scale", "output_scale", "ffn_dropout", "token_types"),
    **usual("compat_decode", "position_offset"),
    **{"architecture": "decoder", "norm_kind": "rms_norm", "norm_position": "pre", "final_norm": True},
    **{"embedding_scale": False, "position": "rotary", "rotary_layout": "halves", "ffn_gated": True, "dropout": 0.0},
    **dict.fromkeys(("ffn_bias", "decoder_attention_bias", "output_bias"), False),
}
SIZES = {
    **{"target_vocab_size": "vocab_size", "num_hiddens": "hidden_size", "ffn_num_hiddens": "intermediate_size"},
    **{"decoder_num_heads": "num_attention_heads", "num_kv_heads": "num_key_value_heads", "head_size": "head_dim"},
    **{"decoder_num_layers": "num_hidden_layers", "max_len": "max_position_embeddings"},
    **{"pad_id": "pad_token_id", "eos_id": "eos_token_id"},
}
RATES = {"norm_eps": "rms_norm_eps", "attention_dropout": "attention_dropout", "rotary_base": "rope_theta"}


def described(library: str, title: str, **other: Any) -> Description:
    """Describe a family that has Llama's tensors and fields; ``library``: what its classes' names begin with."""
    classes = tuple(f"{library}{end}" for end in ("ForCausalLM", "Model", "ForSequenceClassification"))
    tables: dict[str, Any] = {
        **{"fixed": FIXED, "sizes": SIZES, "rates": RATES, "vocabularies": {}, "activation": "hidden_act", "tables": TABLES},
        **{"absent": {"attention_dropout": 0.0, "hidden_act": "silu"}, "modern": modern},
        "names": LayerNames(block="layers.{number}.", blocks={"decoder": BLOCK}, outer=OUTER),
        "buffers": (r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq",),
        "heads": (on_one_state(library, "last", linear("score", bias=False)),),
    }
    model = LibraryModel(model_type=library.lower(), classes=classes)
    return Description(library=model, title=title, prefix="model.", **{**tables, **other})


FAMILY = described(
    "Llama",
    "HF Llama folder",
    required={"rope_scaling": (None,), "attention_bias": (False,), "mlp_bias": (False,), "pretraining_tp": (1,)},
)
ROW = row_of(FAMILY)
