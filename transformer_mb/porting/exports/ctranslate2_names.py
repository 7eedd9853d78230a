"""Where each canonical weight lies in a CTranslate2 model, written down apart from what writes it (``ctranslate2_spec``)."""

from __future__ import annotations

import math

import numpy as np

from ...config import TransformerConfig
from ...parameters import parameter_shapes
from ...positions import sinusoid_table
from ..model import Arrays

KINDS = {"weight": "gamma", "bias": "beta"}
NEVER = -1e9  # the logit of a token that must not be produced
# By canonical layer of a block: the engine's layer, and which of the projections joined in it.
ENCODER = {
    **{f"attention.{name}": ("self_attention/linear_0", i) for i, name in enumerate(("W_q", "W_k", "W_v"))},
    "attention.W_o": ("self_attention/linear_1", 0),
    "addnorm1.ln": ("self_attention/layer_norm", 0),
    "addnorm2.ln": ("ffn/layer_norm", 0),
}
DECODER = {
    **{f"attention1.{name}": ("self_attention/linear_0", i) for i, name in enumerate(("W_q", "W_k", "W_v"))},
    "attention1.W_o": ("self_attention/linear_1", 0),
    "addnorm1.ln": ("self_attention/layer_norm", 0),
    "attention2.W_q": ("attention/linear_0", 0),
    **{f"attention2.{name}": ("attention/linear_1", i) for i, name in enumerate(("W_k", "W_v"))},
    "attention2.W_o": ("attention/linear_2", 0),
    "addnorm2.ln": ("attention/layer_norm", 0),
    "addnorm3.ln": ("ffn/layer_norm", 0),
}
FEED_FORWARD = {"ffn.dense1": ("ffn/linear_0", 0), "ffn.dense2": ("ffn/linear_1", 0)}
OUTER = {
    "encoder.embedding": "encoder/embeddings_0/weight",
    "encoder.type_embedding": "encoder/embeddings_1/weight",
    "decoder.embedding": "decoder/embeddings/weight",
    "encoder.pos_embedding": "encoder/position_encodings/encodings",
    "decoder.pos_embedding": "decoder/position_encodings/encodings",
    "pooler.dense": "pooler_dense/{}",
    "decoder.dense": "decoder/projection/{}",
    **{f"{side}.norm": f"{side}/layer_norm/{{}}" for side in ("encoder", "decoder")},
    **{f"{side}.embedding_norm": f"{side}/layernorm_embedding/{{}}" for side in ("encoder", "decoder")},
}


def place_of(name: str) -> tuple[str, int]:
    """The variable that holds a canonical weight, and the how-manieth of its joined parts it is."""
    layer, _, kind = name.rpartition(".")
    leaf = KINDS[kind] if layer.endswith((".ln", "norm")) else kind
    if layer in OUTER:
        return OUTER[layer].format(leaf), 0
    side, _, block, inner = layer.split(".", 3)
    where, part = {**(ENCODER if side == "encoder" else DECODER), **FEED_FORWARD}[inner]
    return f"{side}/layer_{block.removeprefix('block')}/{where}/{leaf}", part


def expected_variables(config: TransformerConfig, weights: Arrays) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Every array of the engine's model, from weights in float32; and the variable of each canonical weight."""
    places = {name: place_of(name) for name in weights}
    joined: dict[str, dict[int, np.ndarray]] = {}
    for name, (variable, part) in places.items():
        joined.setdefault(variable, {})[part] = weights[name]
    found = {variable: np.concatenate([parts[i] for i in sorted(parts)]) for variable, parts in joined.items()}
    sides = [side for side in ("encoder", "decoder") if getattr(config, f"has_{side}")]
    rows = config.max_len + config.position_offset
    for side in sides:
        name = f"{side}/position_encodings/encodings"
        table = found[name] if name in found else sinusoid_table(rows, config.num_hiddens, config.sinusoid_layout)
        found[name] = table[config.position_offset :].astype(np.float32)
    if config.token_types and config.embedding_scale:  # the engine scales the sum of both tables
        found[OUTER["encoder.type_embedding"]] = found[OUTER["encoder.type_embedding"]] / np.float32(
            math.sqrt(config.num_hiddens)
        )
    if not config.norm_affine:
        shapes = parameter_shapes(config.replace(norm_affine=True))
        for name in set(shapes) - set(weights):
            found[place_of(name)[0]] = (np.ones if name.endswith("weight") else np.zeros)(shapes[name], np.float32)
    return {**found, **(_output(config, found) if config.has_decoder else {})}, {
        name: place for name, (place, _) in places.items()
    }


def _output(config: TransformerConfig, found: Arrays) -> dict[str, np.ndarray]:
    """Tables that the model shares, and the bias that rules tokens out."""
    table = found[OUTER["encoder.embedding" if config.share_embeddings else "decoder.embedding"]]
    weight, bias = "decoder/projection/weight", "decoder/projection/bias"
    outputs = {OUTER["decoder.embedding"]: table, weight: table if config.tie_output else found[weight]}
    if config.suppress_ids:
        outputs[bias] = np.array(found.get(bias, np.zeros(config.target_vocab_size or 0, np.float32)))
        outputs[bias][list(config.suppress_ids)] = NEVER
    return outputs
