"""Configurations that between them use every switch, small enough to run everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...presets import PRESETS, RECIPES

SMALL: dict[str, Any] = {
    "source_vocab_size": 11,
    "target_vocab_size": 13,
    "num_hiddens": 8,
    "ffn_num_hiddens": 12,
    "encoder_num_heads": 2,
    "decoder_num_heads": 2,
    "max_len": 20,
}
ONE_TABLE: dict[str, Any] = {**SMALL, "source_vocab_size": 13, "share_embeddings": True}
CONFIGS = {
    "d2l": TransformerConfig(**SMALL),
    "pre-norm, final norm": TransformerConfig(**{**SMALL, "encoder_num_heads": 4}, norm_position="pre", final_norm=True),
    "post-norm, biases, final norm": TransformerConfig(
        **SMALL, encoder_attention_bias=True, decoder_attention_bias=True, final_norm=True, norm_eps=1e-3
    ),
    "std norm": TransformerConfig(**SMALL, norm_kind="std_norm", norm_eps=1e-6, norm_position="pre", final_norm=True),
    "rms norm": TransformerConfig(**SMALL, norm_kind="rms_norm", norm_position="pre", final_norm=True, embedding_norm=True),
    "gelu, halves": TransformerConfig(**SMALL, activation="gelu", sinusoid_layout="halves", position_offset=1),
    "silu, uneven sides": TransformerConfig(**SMALL, activation="silu", encoder_num_layers=1, decoder_num_layers=3),
    "gated by silu": TransformerConfig(
        **SMALL, norm_kind="rms_norm", norm_position="pre", final_norm=True, activation="silu", ffn_gated=True, ffn_bias=False
    ),
    "heads of three numbers, not scaled": TransformerConfig(
        **SMALL, head_size=3, attention_scale=False, norm_position="pre", output_scale=True
    ),
    "fewer heads of keys, rotary": TransformerConfig(
        **{**SMALL, "encoder_num_heads": 4, "decoder_num_heads": 4}, num_kv_heads=2, position="rotary", norm_position="pre"
    ),
    "relative positions": TransformerConfig(  # three steps are in another bucket where logarithms are of float64
        **SMALL, position="relative", relative_buckets=6, relative_max_distance=9, norm_position="pre", final_norm=True
    ),
    "learned positions, tied": TransformerConfig(**SMALL, position="learned", tie_output=True, output_bias=False),
    "shared and tied, padding": TransformerConfig(
        **ONE_TABLE, tie_output=True, padding_vector_zero=True, activation="gelu_tanh", suppress_ids=(1,)
    ),
    "rotary": TransformerConfig(**SMALL, position="rotary", norm_position="pre", final_norm=True),
    "rotary, interleaved": TransformerConfig(**SMALL, position="rotary", rotary_layout="interleaved", rotary_base=100.0),
    "no affine, no ffn bias": TransformerConfig(**SMALL, norm_affine=False, ffn_bias=False, embedding_scale=False),
    "tokens normed before positions": TransformerConfig(
        **SMALL, embedding_norm=True, decoder_embedding_norm="tokens", position="learned", activation="gelu"
    ),
    "embedding norm": TransformerConfig(
        **SMALL, embedding_norm=True, ffn_dropout=0.2, attention_dropout=0.0, embedding_dropout=0.4
    ),
}
ENCODER = TransformerConfig(
    architecture="encoder",
    source_vocab_size=11,
    num_hiddens=8,
    ffn_num_hiddens=12,
    encoder_num_heads=2,
    max_len=20,
    position="learned",
    embedding_norm=True,
    embedding_scale=False,
    token_types=2,
    pooler=True,
    activation="gelu",
    encoder_attention_bias=True,
)
DECODER = TransformerConfig(
    architecture="decoder",
    target_vocab_size=13,
    num_hiddens=8,
    ffn_num_hiddens=12,
    decoder_num_heads=2,
    max_len=20,
    norm_position="pre",
    final_norm=True,
)
BATCH = {
    "source": np.array([[4, 5, 6, 7, 3], [8, 3, 1, 1, 1], [10, 9, 4, 3, 1]]),
    "source_valid_lens": np.array([5, 2, 4]),
    "target_in": np.array([[2, 5, 6, 7], [2, 8, 3, 1], [2, 9, 4, 12]]),
    "target_out": np.array([[5, 6, 7, 3], [8, 3, 1, 1], [9, 4, 12, 3]]),
    "target_valid_lens": np.array([4, 2, 4]),
}


@dataclass(frozen=True)
class ModelCase:
    """A configuration and the sizes of the batch that it is fed with; kinds of lengths are those of ``drawn_values``.

    ``dropout``: the loss with injected masks. ``attention``: the weights of every head are compared too. ``every_dtype``:
    compared in formats of two bytes too.
    """

    name: str
    config: TransformerConfig
    rows: int = 3
    source_steps: int = 5
    target_steps: int = 4
    dropout: bool = True
    loss: dict[str, Any] = field(default_factory=dict)
    source_lens: str = "ragged"
    target_lens: str = "ragged"
    attention: bool = False
    every_dtype: bool = False


@dataclass(frozen=True)
class OptimizerCase:
    """An update at ``step_count`` earlier steps, from gradients of about ``scale``; ``every_dtype`` as in ModelCase."""

    name: str
    options: dict[str, Any]
    step_count: int = 0
    scale: float = 1.0
    config: TransformerConfig = CONFIGS["d2l"]
    every_dtype: bool = False


SMOOTHED = {"normalization": "tokens", "label_smoothing": 0.1}
SMALL_PRESET = {**SMALL, "target_vocab_size": 11, "encoder_num_layers": 2, "decoder_num_layers": 2}
# The others' switches are those of presets below, and of models drawn by the seed.
WHOLE = ("d2l", "pre-norm, final norm", "shared and tied, padding")


# Of the rows that have one model a seed.
BY_SEED = ("d2l", "gelu, halves", "pre-norm, final norm", "learned positions, tied")


def model_by(seed: int) -> str:
    return BY_SEED[seed % len(BY_SEED)]


def _preset(name: str) -> ModelCase:
    """A published variant, small, with its document's loss."""
    loss: dict[str, Any] = {key: RECIPES[name][key] for key in ("normalization", "label_smoothing") if key in RECIPES[name]}
    return ModelCase(f"preset {name}", PRESETS[name](**SMALL_PRESET), loss=loss, every_dtype=name == "annotated")


MODELS = [
    *(ModelCase(name, CONFIGS[name], attention=CONFIGS[name].final_norm, every_dtype=True) for name in WHOLE),
    *(_preset(name) for name in PRESETS if name != "d2l"),
    # Rows for more than 2,000 scores in each attention: torch then composes one of few keys, and differentiates it by hand.
    ModelCase("d2l, no dropout, smoothed loss per token", CONFIGS["d2l"], rows=64, dropout=False, loss=SMOOTHED),
    ModelCase("silu, uneven sides, smoothed loss", CONFIGS["silu, uneven sides"], loss=SMOOTHED, every_dtype=True),
    ModelCase("heads of three numbers, not scaled", CONFIGS["heads of three numbers, not scaled"], every_dtype=True),
    ModelCase("fewer heads of keys, rotary", CONFIGS["fewer heads of keys, rotary"], every_dtype=True),
    ModelCase("relative positions", CONFIGS["relative positions"], attention=True, every_dtype=True),
    ModelCase("gated by silu", CONFIGS["gated by silu"], every_dtype=True),
    ModelCase("embedding norm, four rates of dropout", CONFIGS["embedding norm"]),
    ModelCase("tokens normed before positions", CONFIGS["tokens normed before positions"], every_dtype=True),
    ModelCase("d2l, one token", CONFIGS["d2l"], rows=1, source_steps=1, target_steps=1),
    ModelCase("shared and tied, one token", CONFIGS["shared and tied, padding"], rows=1, source_steps=1, target_steps=1),
    # Rows for more than 256 tokens, from which on JAX takes another way.
    ModelCase("tied, padding 0", CONFIGS["shared and tied, padding"].replace(share_embeddings=False, pad_id=0), rows=65),
    ModelCase("d2l, 512 steps", CONFIGS["d2l"].replace(max_len=512), rows=1, source_steps=512, target_steps=512),
    ModelCase("encoder alone", ENCODER, every_dtype=True),
    ModelCase("decoder alone", DECODER, attention=True),
]
# Of 2^15 numbers in one weight and of more, and of more than 2^20 in all: backends update large ones by another way, in pieces.
LARGE = TransformerConfig(
    **{**SMALL, "target_vocab_size": 4200, "num_hiddens": 128, "ffn_num_hiddens": 256},
    encoder_num_layers=1,
    decoder_num_layers=1,
)
ADAM = {"optimizer": "adam", "learning_rate": 0.005}
# The learning rate is large: torch rounds a weight twice, and of small changes two roundings would be all there is to see.
ADAMW = {"optimizer": "adamw", "learning_rate": 0.05, "weight_decay": 0.1}
SGD = {"optimizer": "sgd", "learning_rate": 0.1}
OPTIMIZERS = [
    OptimizerCase("adam, first step", ADAM),
    OptimizerCase("adam, tenth step", ADAM, step_count=9, every_dtype=True),
    OptimizerCase("adam, step 1,001", ADAM, step_count=1000),
    OptimizerCase("adam, tiny gradients", ADAM, scale=1e-7),
    OptimizerCase("adam, tiny gradients, tenth step", ADAM, step_count=9, scale=1e-7),
    OptimizerCase("adam, clipped", {**ADAM, "clip_norm": 1.0}, step_count=9, every_dtype=True),
    OptimizerCase("adam, other betas and epsilon", {**ADAM, "betas": [0.8, 0.98], "eps": 1e-3}, step_count=2),
    OptimizerCase("adam, tied, beta 0", {**ADAM, "betas": [0.0, 0.98]}, 2, config=CONFIGS["shared and tied, padding"]),
    OptimizerCase("adamw, first step", ADAMW),
    OptimizerCase("adamw, clipped, tenth step", {**ADAMW, "clip_norm": 1.0}, step_count=9, every_dtype=True),
    OptimizerCase("adamw, tied tables", ADAMW, step_count=2, config=CONFIGS["shared and tied, padding"]),
    OptimizerCase("adamw, clipped, large", {**ADAMW, "clip_norm": 1.0}, config=LARGE),
    OptimizerCase("sgd", SGD),
    OptimizerCase("sgd, momentum", {**SGD, "momentum": 0.9}, step_count=3, every_dtype=True),
    OptimizerCase("sgd, clipped", {**SGD, "momentum": 0.5, "clip_norm": 0.5}, step_count=3),
]
