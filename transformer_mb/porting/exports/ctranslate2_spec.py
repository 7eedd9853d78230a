"""A CTranslate2 folder, written through the engine's own specifications in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...config import TransformerConfig
from .ctranslate2_variables import variables_of

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}


def write(arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """``arrays`` are canonical weights in float32; fills the folder ``path``."""
    config = TransformerConfig.from_dict(settings["config"])
    tokens = {side: settings[f"{side}_tokens"] for side in ("source", "target") if f"{side}_tokens" in settings}
    spec = specification(config, arrays, tokens)
    if settings["add_source_eos"]:
        spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()  # a table that is in two places is stored once
    spec.save(settings["path"])
    return {}, {}


def specification(config: TransformerConfig, weights: Mapping[str, np.ndarray], tokens: Mapping[str, list[str]]) -> Any:
    """A complete specification with its vocabularies; ``tokens`` by side."""
    from ctranslate2.specs import common_spec, model_spec, transformer_spec

    options = {
        # The final norm is the engine's only with pre-norm, ours with either; what it runs is decided by ``pre_norm`` below.
        "pre_norm": True,
        "no_final_norm": not config.final_norm,
        "activation": getattr(common_spec.Activation, ACTIVATIONS[config.activation]),
        "layernorm_embedding": config.embedding_norm,
    }
    encoder = decoder = None
    if config.has_encoder:
        embeddings = {
            "num_source_embeddings": 2 if config.token_types else 1,
            "embeddings_merge": common_spec.EmbeddingsMerge.ADD,
        }
        sizes = (config.encoder_num_layers, config.encoder_num_heads)
        encoder = transformer_spec.TransformerEncoderSpec(*sizes, **options, **embeddings)
    if config.has_decoder:
        sizes = (config.decoder_num_layers, config.decoder_num_heads)
        decoder = transformer_spec.TransformerDecoderSpec(*sizes, **options, with_encoder_attention=config.has_encoder)
    for side in (encoder, decoder):
        if side is not None:
            side.pre_norm = config.norm_position == "pre"
            side.scale_embeddings = config.embedding_scale
    if decoder is None:
        tanh = common_spec.Activation.Tanh
        spec = transformer_spec.TransformerEncoderModelSpec(encoder, pooling_layer=config.pooler, pooling_activation=tanh)
        spec.register_vocabulary(tokens["source"])
        spec.config.unk_token = tokens["source"][config.pad_id]
    elif encoder is None:
        spec = transformer_spec.TransformerDecoderModelSpec(decoder)
        spec.register_vocabulary(tokens["target"])
    else:
        spec = transformer_spec.TransformerSpec(encoder, decoder)
        for _ in encoder.embeddings:
            spec.register_source_vocabulary(tokens["source"])
        spec.register_target_vocabulary(tokens["target"])
        spec.config.decoder_start_token = tokens["target"][config.start_id]
    if decoder is not None:
        target = tokens["target"]
        spec.config.bos_token, spec.config.eos_token = target[config.bos_id], target[config.eos_id]
        spec.config.unk_token = "<unk>" if "<unk>" in target else target[config.pad_id]
    spec.config.layer_norm_epsilon = config.norm_eps
    variables = variables_of(config, weights)

    def fill(layer: Any, name: str, value: Any) -> None:
        if name in variables:
            setattr(layer, name.rpartition("/")[2], variables[name])

    model_spec.visit_spec(spec, fill)
    return spec
