"""The canonical names and shapes of all parameters: those of D2L's PyTorch state_dict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .config import TransformerConfig
from .errors import WeightsError
from .printable import counted

Shapes = dict[str, tuple[int, ...]]
SHOWN = 3  # tensors of each kind that a message names


def parameter_shapes(config: TransformerConfig) -> Shapes:
    """Return the shapes of all stored parameters of a model, by canonical name; shared and tied tensors appear once.

    Linear weights are [out, in], embeddings [rows, D], as in PyTorch.
    """
    shapes: Shapes = {}
    if config.has_encoder:
        shapes.update(_front_end("encoder", config, config.source_vocab_size))
        for i in range(config.encoder_num_layers):
            block = f"encoder.blks.block{i}"
            shapes.update(_attention(f"{block}.attention", config, config.encoder_attention_bias))
            shapes.update(_norm(f"{block}.addnorm1.ln", config))
            shapes.update(_feed_forward(block, config))
            shapes.update(_norm(f"{block}.addnorm2.ln", config))
        shapes.update(_norm("encoder.norm", config) if config.final_norm else {})
    if config.pooler:
        shapes.update(_linear("pooler.dense", config.num_hiddens, config.num_hiddens, True))
    if config.has_decoder:
        shapes.update(_decoder(config))
    return shapes


def _decoder(config: TransformerConfig) -> Shapes:
    shapes = _front_end("decoder", config, None if config.share_embeddings else config.target_vocab_size)
    for i in range(config.decoder_num_layers):
        block = f"decoder.blks.block{i}"
        shapes.update(_attention(f"{block}.attention1", config, config.decoder_attention_bias))
        shapes.update(_norm(f"{block}.addnorm1.ln", config))
        if config.has_encoder:
            shapes.update(_attention(f"{block}.attention2", config, config.decoder_attention_bias))
            shapes.update(_norm(f"{block}.addnorm2.ln", config))
        shapes.update(_feed_forward(block, config))
        shapes.update(_norm(f"{block}.addnorm3.ln", config))
    shapes.update(_norm("decoder.norm", config) if config.final_norm else {})
    vocab_size = config.target_vocab_size or 0
    shapes.update(_linear("decoder.dense", vocab_size, config.num_hiddens, config.output_bias))
    if config.tie_output:
        del shapes["decoder.dense.weight"]
    return shapes


def _front_end(side: str, config: TransformerConfig, vocab_size: int | None) -> Shapes:
    shapes: Shapes = {}
    if vocab_size is not None:
        shapes[f"{side}.embedding.weight"] = (vocab_size, config.num_hiddens)
    if config.position == "learned":
        rows = config.max_len + config.position_offset
        shapes[f"{side}.pos_embedding.weight"] = (rows, config.num_hiddens)
    if config.position == "relative":
        shapes[f"{side}.relative_bias.weight"] = (config.relative_buckets, getattr(config, f"{side}_num_heads"))
    if config.token_types and side == "encoder":
        shapes[f"{side}.type_embedding.weight"] = (config.token_types, config.num_hiddens)
    if config.embedding_norm:
        shapes.update(_norm(f"{side}.embedding_norm", config))
    return shapes


def _linear(name: str, outputs: int, inputs: int, bias: bool) -> Shapes:
    shapes: Shapes = {f"{name}.weight": (outputs, inputs)}
    if bias:
        shapes[f"{name}.bias"] = (outputs,)
    return shapes


def _norm(name: str, config: TransformerConfig) -> Shapes:
    if not config.norm_affine:
        return {}
    kinds = ("weight",) if config.norm_kind == "rms_norm" else ("weight", "bias")
    return {f"{name}.{kind}": (config.num_hiddens,) for kind in kinds}


def _attention(name: str, config: TransformerConfig, bias: bool) -> Shapes:
    shapes: Shapes = {}
    side = name.split(".")[0]
    width = config.head_width(side)
    inner, few = width * int(getattr(config, f"{side}_num_heads")), width * config.kv_heads(side)
    for projection, outputs in (("W_q", inner), ("W_k", few), ("W_v", few)):
        shapes.update(_linear(f"{name}.{projection}", outputs, config.num_hiddens, bias))
    return {**shapes, **_linear(f"{name}.W_o", config.num_hiddens, inner, bias)}


def _feed_forward(block: str, config: TransformerConfig) -> Shapes:
    wide, narrow = config.ffn_num_hiddens, config.num_hiddens
    return {
        **_linear(f"{block}.ffn.dense1", wide, narrow, config.ffn_bias),
        **_linear(f"{block}.ffn.dense2", narrow, wide, config.ffn_bias),
        **(_linear(f"{block}.ffn.dense3", wide, narrow, config.ffn_bias) if config.ffn_gated else {}),
    }


def check_sizes(config: TransformerConfig, tensors: int) -> None:
    """Raise WeightsError for numbers that no tensor bears out, before a list of parameters is made of them.

    A damaged or hostile file may ask for more layers than memory has names for; ``TransformerConfig`` bounds the positions,
    and every other size is held to a shape by ``check_weights``.
    """
    for side in ("encoder", "decoder"):
        layers = getattr(config, f"{side}_num_layers")
        if getattr(config, f"has_{side}") and layers > tensors:
            raise WeightsError(f"{side}_num_layers must be at most the {tensors} tensors, got {layers}.")


def check_weights(weights: Mapping[str, Any], expected: Mapping[str, Iterable[int]], what: str = "The model") -> None:
    """Raise WeightsError of missing, unexpected and wrongly shaped tensors at once: the first of each kind and a count."""
    missing = [f"missing {name} {list(expected[name])}" for name in expected if name not in weights]
    unexpected = [f"unexpected {name} {list(weights[name].shape)}" for name in weights if name not in expected]
    misshapen = [
        f"{name} must have shape {list(expected[name])}, got {list(weights[name].shape)}"
        for name in expected
        if name in weights and tuple(weights[name].shape) != tuple(expected[name])
    ]
    problems = [*_first(missing, "missing"), *_first(unexpected, "unexpected"), *_first(misshapen, "of another shape")]
    if problems:
        raise WeightsError(f"{what} and the weights do not fit: {'; '.join(problems)}.")


def _first(problems: list[str], kind: str) -> list[str]:
    more = len(problems) - SHOWN
    return [*problems[:SHOWN], f"and {more} more {kind}"] if more > 0 else problems


def not_finite(weights: Mapping[str, np.ndarray]) -> str:
    """Name the weights that are NaN or infinite; empty where all are finite."""
    wrong = {name: int(bad) for name, array in weights.items() if (bad := array.size - np.isfinite(array).sum())}
    if not wrong:
        return ""
    name, number = next(iter(wrong.items()))
    others = f" and {counted(len(wrong) - 1, 'more tensor')}" if len(wrong) > 1 else ""
    return f"{number} of the {weights[name].size} numbers of {name}{others} are NaN or infinite"
