"""The names of MarianMT's tensors."""

from __future__ import annotations

BIAS = "final_logits_bias"
SHARED, HEAD = "model.shared.weight", "lm_head.weight"
TABLES = {"encoder": "model.encoder.embed_tokens.weight", "decoder": "model.decoder.embed_tokens.weight"}
POSITIONS = tuple(f"model.{side}.embed_positions.weight" for side in TABLES)
FEED_FORWARD = {"ffn.dense1": "fc1", "ffn.dense2": "fc2"}
BLOCKS = {
    "encoder": {
        "attention": "self_attn",
        "addnorm1.ln": "self_attn_layer_norm",
        **FEED_FORWARD,
        "addnorm2.ln": "final_layer_norm",
    },
    "decoder": {
        "attention1": "self_attn",
        "addnorm1.ln": "self_attn_layer_norm",
        "attention2": "encoder_attn",
        "addnorm2.ln": "encoder_attn_layer_norm",
        **FEED_FORWARD,
        "addnorm3.ln": "final_layer_norm",
    },
}
PROJECTIONS = {"W_q": "q_proj", "W_k": "k_proj", "W_v": "v_proj", "W_o": "out_proj"}


def foreign_name(name: str) -> str:
    """The name in a MarianMTModel's state_dict. A shared table has that of its first place."""
    if name == "decoder.dense.bias":
        return BIAS
    if name == "decoder.dense.weight":
        return HEAD
    side, layer = name.split(".", 1)
    if layer == "embedding.weight":
        return TABLES[side]
    _, block, layer = layer.split(".", 2)
    layer, _, kind = layer.rpartition(".")
    outer, _, projection = layer.partition(".W_")
    theirs = f"{BLOCKS[side][outer]}.{PROJECTIONS[f'W_{projection}']}" if projection else BLOCKS[side][layer]
    return f"model.{side}.layers.{block.removeprefix('block')}.{theirs}.{kind}"
