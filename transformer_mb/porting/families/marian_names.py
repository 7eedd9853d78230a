"""The names of MarianMT's tensors."""

from __future__ import annotations

from .layer_names import LayerNames, projections

BIAS = "final_logits_bias"
SHARED, HEAD = "model.shared.weight", "lm_head.weight"
TABLES = {"encoder": "model.encoder.embed_tokens.weight", "decoder": "model.decoder.embed_tokens.weight"}
POSITIONS = tuple(f"model.{side}.embed_positions.weight" for side in TABLES)
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
# A shared table has the name of its first place.
OUTER = {
    "encoder.embedding.weight": TABLES["encoder"],
    "decoder.embedding.weight": TABLES["decoder"],
    "decoder.dense.weight": HEAD,
    "decoder.dense.bias": BIAS,
}
NAMES = LayerNames(block="model.{side}.layers.{number}.", blocks=BLOCKS, outer=OUTER)
