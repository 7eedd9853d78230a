"""OPT as ``transformers`` saves it (Zhang et al. 2022): a decoder, pre-norm, learned positions from row 2 on.

OPT-350m has post-norm and projects its embeddings, which nothing here computes: it is refused by the names of these fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..settings import usual
from .bart import FEED_FORWARD
from .described_folder import row_of
from .description import Description, TokenTables
from .hugging_face import LibraryModel
from .naming_schemes import LayerNames, projections
from .task_layouts import linear, on_one_state, on_tokens

BLOCK = {
    **projections("attention1", "self_attn"),
    "addnorm1.ln": "self_attn_layer_norm",
    **FEED_FORWARD,
    "addnorm3.ln": "final_layer_norm",
}
TABLES = TokenTables(sides={"decoder": "decoder.embed_tokens.weight"}, output="lm_head.weight")
OUTER = {
    "decoder.embedding.weight": TABLES.sides["decoder"],
    "decoder.pos_embedding.weight": "decoder.embed_positions.weight",
    "decoder.norm": "decoder.final_layer_norm",
    "decoder.dense.weight": TABLES.output,
}


def modern(values: Mapping[str, Any]) -> dict[str, Any]:
    """Say that embeddings are as wide as the model where nothing else is said."""
    return {"word_embed_proj_dim": values.get("hidden_size"), **values}


FAMILY = Description(
    library=LibraryModel(
        model_type="opt",
        classes=("OPTForCausalLM", "OPTModel", "OPTForSequenceClassification", "OPTForQuestionAnswering"),
    ),
    title="HF OPT folder",
    prefix="model.",
    names=LayerNames(block="decoder.layers.{number}.", blocks={"decoder": BLOCK}, outer=OUTER),
    tables=TABLES,
    fixed={
        **usual("norm_kind", "norm_eps", "norm_affine", "embedding_norm", "ffn_bias", "ffn_dropout"),
        **usual("token_types", "compat_decode"),
        "architecture": "decoder",
        "norm_position": "pre",
        "final_norm": True,
        "embedding_scale": False,
        "position": "learned",
        "position_offset": 2,
        "decoder_attention_bias": True,
        "output_bias": False,
    },
    sizes={
        "target_vocab_size": "vocab_size",
        "num_hiddens": "hidden_size",
        "ffn_num_hiddens": "ffn_dim",
        "decoder_num_heads": "num_attention_heads",
        "decoder_num_layers": "num_hidden_layers",
        "max_len": "max_position_embeddings",
        "pad_id": "pad_token_id",
        "eos_id": "eos_token_id",
    },
    rates={"dropout": "dropout", "attention_dropout": "attention_dropout"},
    vocabularies={},
    activation="activation_function",
    required={
        "do_layer_norm_before": (True,),
        "_remove_final_layer_norm": (False,),
        "enable_bias": (True,),
        "layer_norm_elementwise_affine": (True,),
    },
    equal={"word_embed_proj_dim": "hidden_size"},
    absent={"activation_dropout": 0.0, "layerdrop": 0.0},
    modern=modern,
    heads=(on_one_state("OPT", "last", linear("score", bias=False)), *on_tokens("OPT")),
)
ROW = row_of(FAMILY)
