"""A function per published variant: its architecture, and the recipe that its document trains with.

Every function takes the two vocabulary sizes and any field of TransformerConfig to change; ``num_heads`` and ``num_layers``
are of both sides. A small model of the same kind is ``presets.annotated(11, 13, num_hiddens=8, ffn_num_hiddens=12,
num_heads=2)``. Unknown fields, and values that cannot be, raise ConfigError.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from .config import TransformerConfig
from .errors import ConfigError
from .fields import check_names

BOTH_SIDES = ("num_layers", "num_heads")  # the encoder's and the decoder's at once


def on_both_sides(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of TransformerConfig with ``num_layers`` and ``num_heads`` given to both sides.

    Raises ConfigError where a side has another number beside it.
    """
    fields = dict(given)
    for name in BOTH_SIDES:
        if name in fields:
            both = dict.fromkeys((f"encoder_{name}", f"decoder_{name}"), fields.pop(name))
            if other := [
                f"{side} = {fields[side]}" for side, value in both.items() if side in fields and fields[side] != value
            ]:
                raise ConfigError(f"{name} sets both sides, got {name} = {given[name]} beside {' and '.join(other)}.")
            fields.update(both)
    return fields


_BASE_SIZE: dict[str, Any] = {
    "num_hiddens": 512,
    "ffn_num_hiddens": 2048,
    "encoder_num_heads": 8,
    "decoder_num_heads": 8,
    "encoder_num_layers": 6,
    "decoder_num_layers": 6,
}
_BIASES: dict[str, Any] = {"encoder_attention_bias": True, "decoder_attention_bias": True}

# What differs from TransformerConfig's own defaults.
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "d2l": {},
    "notes_de_en": {
        **_BASE_SIZE,
        # A new LayerNorm at every call is one whose scale and shift stay 1 and 0.
        "norm_affine": False,
        "embedding_scale": False,
        "ffn_bias": False,
        "output_bias": False,
        "dropout": 0.0,
        "pad_id": 0,
        "bos_id": 6,
        "eos_id": 7,
    },
    "stepwise_prenorm": {
        **_BASE_SIZE,
        **_BIASES,
        "encoder_num_layers": 1,
        "decoder_num_layers": 1,
        "max_len": 5000,
        "norm_position": "pre",
        "norm_kind": "std_norm",
        "norm_eps": 1e-6,
        "final_norm": True,
        "dropout": 0.0,
    },
    "fused_embedding": {
        **_BASE_SIZE,
        **_BIASES,
        "max_len": 5000,
        "embedding_scale": False,
        "padding_vector_zero": True,
        "attention_dropout": 0.0,
        "ffn_dropout": 0.1,
    },
    "vaswani_base": {
        **_BASE_SIZE,
        "share_embeddings": True,
        "tie_output": True,
        "output_bias": False,
        # Section 5.4: on each sublayer's output and on the sum of embeddings and positions.
        "attention_dropout": 0.0,
    },
    "annotated": {
        **_BASE_SIZE,
        **_BIASES,
        "max_len": 5000,
        "norm_position": "pre",
        "norm_kind": "std_norm",
        "norm_eps": 1e-6,
        "final_norm": True,
        "ffn_dropout": 0.1,
        "bos_id": 0,
        "eos_id": 1,
        "pad_id": 2,
    },
}

_WARM_ADAM: dict[str, Any] = {
    "optimizer": "adam",
    "learning_rate": 1.0,
    "betas": (0.9, 0.98),
    "eps": 1e-9,
    "schedule": "vaswani",
    "clip_norm": None,
    "normalization": "tokens",
    "label_smoothing": 0.1,
}

# Fields of training.TrainingRecipe. "tokens" is the mean over all target tokens but the padding: what ignore_index does.
RECIPES: dict[str, dict[str, Any]] = {
    # D2L chapter 10.7 with the training function of chapter 9.7.
    "d2l": {
        "epochs": 200,
        "batch_size": 64,
        "num_steps": 10,
        "optimizer": "adam",
        "learning_rate": 0.005,
        "clip_norm": 1.0,
        "normalization": "steps",
        "min_freq": 2,
    },
    "notes_de_en": {
        "epochs": 100,
        "batch_size": 2,
        "optimizer": "sgd",
        "learning_rate": 1e-3,
        "momentum": 0.99,
        "clip_norm": None,
        "normalization": "tokens",
        "pipeline": "words",
        # From Xavier weights and small embeddings this model learns nothing in 100 steps (loss 1.9, measured).
        "initialization": "torch_default",
    },
    # The document computes a forward pass and trains nothing.
    "stepwise_prenorm": {"initialization": "torch_default"},
    # The document names the padding ids that a loss is to ignore, and ends before the training.
    "fused_embedding": {"normalization": "tokens"},
    # Sections 5.1, 5.3 and 5.4. Its batches hold about 25,000 tokens of each side; a thousand pairs are near that.
    "vaswani_base": {**_WARM_ADAM, "warmup_steps": 4000, "batch_size": 1000},
    # Its German-English example: ten batches of 32 to an update, so that an update sees 320 pairs.
    "annotated": {**_WARM_ADAM, "warmup_steps": 3000, "batch_size": 320, "epochs": 8, "min_freq": 2},
}


def d2l(source_vocab_size: int, target_vocab_size: int, **changes: Any) -> TransformerConfig:
    """Dive into Deep Learning, chapter 10.7: 2 layers, 32 hidden units, 4 heads, post-norm, no attention bias."""
    return _preset("d2l", source_vocab_size, target_vocab_size, changes)


def notes_de_en(source_vocab_size: int, target_vocab_size: int, **changes: Any) -> TransformerConfig:
    """German-English implementation notes of 2022: post-norm of base size without any bias, dropout or learned norm.

    Ids as in its vocabulary of nine: padding 0, start ``S`` 6, end ``E`` 7.
    """
    return _preset("notes_de_en", source_vocab_size, target_vocab_size, changes)


def stepwise_prenorm(source_vocab_size: int, target_vocab_size: int, **changes: Any) -> TransformerConfig:
    """The step-by-step notebook after Riedl: one pre-norm layer a side, std-based norms, biases, 5,000 positions."""
    return _preset("stepwise_prenorm", source_vocab_size, target_vocab_size, changes)


def fused_embedding(source_vocab_size: int | None, target_vocab_size: int, **changes: Any) -> TransformerConfig:
    """The TransformerEmbedding / PositionWiseFeedForward style: post-norm, FFN dropout, a zero padding vector, no scaling.

    The document leaves the number of layers and the width of the FFN open; they are the base model's here. Its decoder also
    runs without an encoder: ``fused_embedding(None, 13, architecture="decoder")``.
    """
    return _preset("fused_embedding", source_vocab_size, target_vocab_size, changes)


def vaswani_base(source_vocab_size: int, target_vocab_size: int, **changes: Any) -> TransformerConfig:
    """Vaswani et al. 2017, the base model: one table for both embeddings and the output, so the sizes must be equal."""
    return _preset("vaswani_base", source_vocab_size, target_vocab_size, changes)


def annotated(source_vocab_size: int, target_vocab_size: int, **changes: Any) -> TransformerConfig:
    """The Annotated Transformer (Rush 2018, Huang et al. 2022): base size, pre-norm, std-based norms, biases.

    Its label smoothing spreads over V - 2 tokens where ours (see MaskedSoftmaxCELoss) spreads over V.
    """
    return _preset("annotated", source_vocab_size, target_vocab_size, changes)


PRESETS = {preset.__name__: preset for preset in (d2l, notes_de_en, stepwise_prenorm, fused_embedding, vaswani_base, annotated)}


__all__ = ["ARCHITECTURES", "PRESETS", "RECIPES", *PRESETS]


def __dir__() -> list[str]:
    return sorted(__all__)


def check_name(name: str) -> str:
    if name not in PRESETS:
        raise ConfigError(
            f"The preset must be one of {', '.join(PRESETS)}, got {name!r}; `transformer-mb presets` describes them."
        )
    return name


def _preset(name: str, source_vocab_size: int | None, target_vocab_size: int, changes: dict[str, Any]) -> TransformerConfig:
    sizes = {"source_vocab_size": source_vocab_size, "target_vocab_size": target_vocab_size}
    check_names(f"field(s) of {name}", changes, (*BOTH_SIDES, *(field.name for field in dataclasses.fields(TransformerConfig))))
    return TransformerConfig(**{**ARCHITECTURES[name], **sizes, **on_both_sides(changes)})
