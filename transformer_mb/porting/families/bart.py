"""BART as ``transformers`` saves it (Lewis et al. 2020): post-norm, learned positions from row 2 on, one table for all."""

from __future__ import annotations

from ...task_heads import Step
from ..settings import usual
from .described_folder import row_of
from .description import Description, TokenTables
from .hugging_face import LibraryModel
from .naming_schemes import LayerNames, projections
from .task_layouts import linear, on_one_state, on_tokens

FEED_FORWARD = {"ffn.dense1": "fc1", "ffn.dense2": "fc2"}
BLOCKS = {
    "encoder": {
        **projections("attention", "self_attn"),
        "addnorm1.ln": "self_attn_layer_norm",
        **FEED_FORWARD,
        "addnorm2.ln": "final_layer_norm",
    },
    "decoder": {
        **projections("attention1", "self_attn"),
        "addnorm1.ln": "self_attn_layer_norm",
        **projections("attention2", "encoder_attn"),
        "addnorm2.ln": "encoder_attn_layer_norm",
        **FEED_FORWARD,
        "addnorm3.ln": "final_layer_norm",
    },
}
TABLES = TokenTables(
    sides={"encoder": "encoder.embed_tokens.weight", "decoder": "decoder.embed_tokens.weight"},
    shared="shared.weight",
    output="lm_head.weight",
    bias="final_logits_bias",
)
TOKENS = {
    **{f"{side}.embedding.weight": name for side, name in TABLES.sides.items()},
    "decoder.dense.weight": TABLES.output,
    "decoder.dense.bias": TABLES.bias,
}
LEARNED = {f"{side}.pos_embedding.weight": f"{side}.embed_positions.weight" for side in TABLES.sides}
EMBEDDING_NORMS = {f"{side}.embedding_norm": f"{side}.layernorm_embedding" for side in TABLES.sides}
FINAL_NORMS = {f"{side}.norm": f"{side}.layer_norm" for side in TABLES.sides}
SIZES = {
    "num_hiddens": "d_model",
    "ffn_num_hiddens": "encoder_ffn_dim",
    "encoder_num_heads": "encoder_attention_heads",
    "decoder_num_heads": "decoder_attention_heads",
    "encoder_num_layers": "encoder_layers",
    "decoder_num_layers": "decoder_layers",
    "max_len": "max_position_embeddings",
    "pad_id": "pad_token_id",
    "eos_id": "eos_token_id",
    "decoder_start_id": "decoder_start_token_id",
}
RATES = {"dropout": "dropout", "attention_dropout": "attention_dropout", "ffn_dropout": "activation_dropout"}
# Second names that transformers lets overrule the first, and what must be alike on both sides.
EQUAL = {
    "decoder_ffn_dim": "encoder_ffn_dim",
    "hidden_size": "d_model",
    "num_attention_heads": "encoder_attention_heads",
    "num_hidden_layers": "encoder_layers",
}
COMMON = {  # the epsilon is in no field of config.json
    **usual("architecture", "norm_kind", "norm_eps", "norm_affine", "ffn_bias", "token_types", "compat_decode"),
    "encoder_attention_bias": True,
    "decoder_attention_bias": True,
}
CLASSES = (
    *("BartForConditionalGeneration", "BartModel"),
    *("BartForSequenceClassification", "BartForQuestionAnswering"),
)


def names(**outer: str) -> LayerNames:
    """Return the names of such an encoder and decoder, of which ``outer`` lie outside of the blocks."""
    return LayerNames(block="{side}.layers.{number}.", blocks=BLOCKS, outer={**TOKENS, **outer})


def described(library: LibraryModel, title: str, layer_names: LayerNames, **tables: object) -> Description:
    """Describe a family that has BART's tensors and fields but for the given tables."""
    usual_tables: dict[str, object] = {
        "prefix": "model.",
        "tables": TABLES,
        "sizes": SIZES,
        "rates": RATES,
        "vocabularies": {"source_vocab_size": ("vocab_size",), "target_vocab_size": ("vocab_size",)},
        "activation": "activation_function",
        "switches": {"embedding_scale": "scale_embedding"},
        "equal": EQUAL,
        "absent": {"scale_embedding": False},
    }
    return Description(library=library, title=title, names=layer_names, **{**usual_tables, **tables})  # type: ignore[arg-type]


FAMILY = described(
    LibraryModel(model_type="bart", classes=CLASSES),
    "HF BART folder",
    names(**LEARNED, **EMBEDDING_NORMS),
    fixed={
        **COMMON,
        **usual("norm_position", "final_norm"),
        "embedding_norm": True,
        "position": "learned",
        "position_offset": 2,
    },
    heads=(
        on_one_state("Bart", "end", linear("classification_head.dense"), Step("tanh"), linear("classification_head.out_proj")),
        *on_tokens("Bart")[1:],
    ),
)
ROW = row_of(FAMILY)
