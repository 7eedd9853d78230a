"""Llama as ``transformers`` saves it (Touvron et al. 2023): a decoder, pre-norm by root mean squares, rotary, a gated network.

As many heads of keys as of queries: Llama 1 and 2 up to 13B. What has fewer of them, or stretches its positions
(``rope_scaling``), is refused by the names of these fields.
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
    width, heads = own.get("hidden_size"), own.get("num_attention_heads")
    if isinstance(width, int) and isinstance(heads, int) and heads > 0 and own.get("head_dim") == width // heads:
        own.pop("head_dim")
    own.pop("rope_scaling", None)
    filled = {"pad_token_id": own.get("eos_token_id"), "num_key_value_heads": heads}
    return {**filled, **own, **scaling, "rope_theta": told.get("rope_theta", own.get("rope_theta", USUAL_BASE))}


FAMILY = Description(
    library=LibraryModel(model_type="llama", classes=("LlamaForCausalLM", "LlamaModel", "LlamaForSequenceClassification")),
    title="HF Llama folder",
    prefix="model.",
    names=LayerNames(block="layers.{number}.", blocks={"decoder": BLOCK}, outer=OUTER),
    tables=TABLES,
    fixed={
        **usual("norm_affine", "embedding_norm", "attention_scale", "output_scale", "ffn_dropout", "token_types"),
        **usual("compat_decode", "position_offset"),
        "architecture": "decoder",
        "norm_kind": "rms_norm",
        "norm_position": "pre",
        "final_norm": True,
        "embedding_scale": False,
        "position": "rotary",
        "rotary_layout": "halves",
        "ffn_gated": True,
        "ffn_bias": False,
        "decoder_attention_bias": False,
        "output_bias": False,
        "dropout": 0.0,
    },
    sizes={
        "target_vocab_size": "vocab_size",
        "num_hiddens": "hidden_size",
        "ffn_num_hiddens": "intermediate_size",
        "decoder_num_heads": "num_attention_heads",
        "decoder_num_layers": "num_hidden_layers",
        "max_len": "max_position_embeddings",
        "pad_id": "pad_token_id",
        "eos_id": "eos_token_id",
    },
    rates={"norm_eps": "rms_norm_eps", "attention_dropout": "attention_dropout", "rotary_base": "rope_theta"},
    vocabularies={},
    activation="hidden_act",
    required={
        "rope_scaling": (None,),
        "head_dim": (None,),  # of another width than hidden_size / num_attention_heads
        "attention_bias": (False,),
        "mlp_bias": (False,),
        "pretraining_tp": (1,),
    },
    equal={"num_key_value_heads": "num_attention_heads"},
    absent={"attention_dropout": 0.0, "hidden_act": "silu"},
    buffers=(r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq",),
    modern=modern,
    heads=(on_one_state("Llama", "last", linear("score", bias=False)),),
)
ROW = row_of(FAMILY)
