"""Canonical weights as CTranslate2's specification, whose names the engine reads its variables by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...positions import sinusoid_table

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}
NEVER = -1e9  # the logit of a token that must not be produced


class Filler:
    """Puts the weights of one model into the layers of a specification."""

    def __init__(self, config: TransformerConfig, weights: Mapping[str, np.ndarray]):
        from ctranslate2 import specs

        self.config = config
        self.weights = weights
        self.specs = specs
        self.pre_norm = config.norm_position == "pre"
        self.activation = getattr(specs.common_spec.Activation, ACTIVATIONS[config.activation])

    def encoder(self) -> Any:
        config, specs = self.config, self.specs.transformer_spec
        spec = specs.TransformerEncoderSpec(
            config.encoder_num_layers,
            config.encoder_num_heads,
            # The final norm is the engine's only with pre-norm, ours with either; what it runs is decided by ``pre_norm``.
            pre_norm=True,
            no_final_norm=not config.final_norm,
            activation=self.activation,
            num_source_embeddings=2 if config.token_types else 1,
            embeddings_merge=self.specs.common_spec.EmbeddingsMerge.ADD,
            layernorm_embedding=config.embedding_norm,
        )
        self._outer(spec, "encoder")
        spec.embeddings[0].weight = self.weights["encoder.embedding.weight"]
        if config.token_types:
            # The engine scales the sum of both tables, we the tokens alone.
            scale = math.sqrt(config.num_hiddens) if config.embedding_scale else 1.0
            spec.embeddings[1].weight = self.weights["encoder.type_embedding.weight"] / np.float32(scale)
        for i, layer in enumerate(spec.layer):
            block = f"encoder.blks.block{i}"
            self._attention(layer.self_attention, f"{block}.attention", ("W_q", "W_k", "W_v"))
            self._norm(layer.self_attention.layer_norm, f"{block}.addnorm1.ln")
            self._feed_forward(layer.ffn, block, "addnorm2")
        return spec

    def decoder(self) -> Any:
        config, specs = self.config, self.specs.transformer_spec
        spec = specs.TransformerDecoderSpec(
            config.decoder_num_layers,
            config.decoder_num_heads,
            pre_norm=True,
            no_final_norm=not config.final_norm,
            activation=self.activation,
            layernorm_embedding=config.embedding_norm,
            with_encoder_attention=config.has_encoder,
        )
        self._outer(spec, "decoder")
        table = self.weights["encoder.embedding.weight" if config.share_embeddings else "decoder.embedding.weight"]
        spec.embeddings.weight = table
        self._output(spec.projection, table)
        for i, layer in enumerate(spec.layer):
            block = f"decoder.blks.block{i}"
            self._attention(layer.self_attention, f"{block}.attention1", ("W_q", "W_k", "W_v"))
            self._norm(layer.self_attention.layer_norm, f"{block}.addnorm1.ln")
            if config.has_encoder:
                self._attention(layer.attention, f"{block}.attention2", ("W_q",), ("W_k", "W_v"))
                self._norm(layer.attention.layer_norm, f"{block}.addnorm2.ln")
            self._feed_forward(layer.ffn, block, "addnorm3")
        return spec

    def linear(self, spec: Any, names: Sequence[str]) -> None:
        """Layers that read the same input, as one."""
        spec.weight = np.concatenate([self.weights[f"{name}.weight"] for name in names])
        if f"{names[0]}.bias" in self.weights:
            spec.bias = np.concatenate([self.weights[f"{name}.bias"] for name in names])

    def _outer(self, spec: Any, side: str) -> None:
        config = self.config
        spec.pre_norm = self.pre_norm
        spec.scale_embeddings = config.embedding_scale
        rows = config.max_len + config.position_offset
        if config.position == "learned":
            table = self.weights[f"{side}.pos_embedding.weight"]
        else:
            table = sinusoid_table(rows, config.num_hiddens, config.sinusoid_layout)
        spec.position_encodings.encodings = table[config.position_offset :].astype(np.float32)
        if config.final_norm:
            self._norm(spec.layer_norm, f"{side}.norm")
        if config.embedding_norm:
            self._norm(spec.layernorm_embedding, f"{side}.embedding_norm")

    def _norm(self, spec: Any, name: str) -> None:
        size = self.config.num_hiddens
        spec.gamma = self.weights.get(f"{name}.weight", np.ones(size, np.float32))
        spec.beta = self.weights.get(f"{name}.bias", np.zeros(size, np.float32))

    def _attention(self, spec: Any, name: str, *groups: Sequence[str]) -> None:
        for linear, group in zip(spec.linear, (*groups, ("W_o",)), strict=True):
            self.linear(linear, [f"{name}.{projection}" for projection in group])

    def _feed_forward(self, spec: Any, block: str, norm: str) -> None:
        self.linear(spec.linear_0, [f"{block}.ffn.dense1"])
        self.linear(spec.linear_1, [f"{block}.ffn.dense2"])
        self._norm(spec.layer_norm, f"{block}.{norm}.ln")

    def _output(self, spec: Any, table: np.ndarray) -> None:
        config = self.config
        spec.weight = table if config.tie_output else self.weights["decoder.dense.weight"]
        bias = self.weights.get("decoder.dense.bias")
        if config.suppress_ids:
            bias = np.zeros(len(spec.weight), np.float32) if bias is None else bias.copy()
            bias[list(config.suppress_ids)] = NEVER
        if bias is not None:
            spec.bias = bias


def specification(config: TransformerConfig, weights: Mapping[str, np.ndarray], tokens: Mapping[str, list[str]]) -> Any:
    """A complete specification with its vocabularies; ``tokens`` by side."""
    filler = Filler(config, weights)
    specs = filler.specs.transformer_spec
    if not config.has_decoder:
        spec = specs.TransformerEncoderModelSpec(
            filler.encoder(), pooling_layer=config.pooler, pooling_activation=filler.specs.common_spec.Activation.Tanh
        )
        if config.pooler:
            filler.linear(spec.pooler_dense, ["pooler.dense"])
        spec.register_vocabulary(tokens["source"])
        spec.config.unk_token = tokens["source"][config.pad_id]
    elif not config.has_encoder:
        spec = specs.TransformerDecoderModelSpec(filler.decoder())
        spec.register_vocabulary(tokens["target"])
        _name_tokens(spec.config, config, tokens["target"])
    else:
        spec = specs.TransformerSpec(filler.encoder(), filler.decoder())
        for _ in spec.encoder.embeddings:
            spec.register_source_vocabulary(tokens["source"])
        spec.register_target_vocabulary(tokens["target"])
        _name_tokens(spec.config, config, tokens["target"])
        spec.config.decoder_start_token = tokens["target"][config.start_id]
    spec.config.layer_norm_epsilon = config.norm_eps
    return spec


def _name_tokens(named: Any, config: TransformerConfig, tokens: list[str]) -> None:
    named.bos_token, named.eos_token = tokens[config.bos_id], tokens[config.eos_id]
    named.unk_token = "<unk>" if "<unk>" in tokens else tokens[config.pad_id]
