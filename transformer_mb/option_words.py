"""Every option of a training in words: what ``--help``, ``train --print-config`` and docs/PYTHON.md say of it.

Only names and words, and the defaults of TrainingRecipe, whose home imports NumPy: ``--help`` does without.
"""

from __future__ import annotations

from typing import Any

from .config import CHOICES


def one_of(name: str) -> str:
    return ", ".join(CHOICES[name])


# Fields of TransformerConfig that a training leaves open; the vocabularies decide on the others.
MODEL: dict[str, str] = {
    "architecture": "sentence pairs train an encoder_decoder, the only one here",
    "num_hiddens": "the width of the model",
    "ffn_num_hiddens": "the width inside the feed-forward network",
    "encoder_num_heads": "attention heads of the encoder; num_heads says it of both sides",
    "decoder_num_heads": "attention heads of the decoder",
    "encoder_num_layers": "blocks of the encoder; num_layers says it of both sides",
    "decoder_num_layers": "blocks of the decoder",
    "max_len": "positions: the longest sentence, <eos> counted",
    "norm_position": f"{one_of('norm_position')}: normalize after the residual sum, or before each sublayer",
    "norm_kind": one_of("norm_kind"),
    "norm_eps": "the normalization's epsilon, above 0 and below 1",
    "norm_affine": "whether normalizations have a learned scale and shift",
    "final_norm": "one more normalization after the last block of each side",
    "embedding_norm": "a normalization after the embedding sum",
    "activation": one_of("activation"),
    "embedding_scale": "multiply token embeddings by the root of num_hiddens",
    "share_embeddings": "one vocabulary and one table for both sides",
    "tie_output": "the output projection is the target's embedding table",
    "padding_vector_zero": "the padding's embedding is zero and stays so",
    "position": f"{one_of('position')} positions",
    "sinusoid_layout": f"{one_of('sinusoid_layout')}: where the cosines stand",
    "position_offset": "the number of the first position",
    "encoder_attention_bias": "biases in the encoder's attention",
    "decoder_attention_bias": "biases in the decoder's attention",
    "ffn_bias": "biases in the feed-forward network",
    "output_bias": "a bias in the output projection",
    "token_types": "rows of the encoder's token-type table, 0 for none",
    "pooler": "for encoders alone",
    "dropout": "rate on sublayer outputs and embeddings, from 0 to below 1",
    "attention_dropout": "rate on attention weights; left out: as dropout",
    "ffn_dropout": "rate after the feed-forward network's activation",
    "decoder_start_id": "the first token of a target; left out: <bos>",
    "suppress_ids": "tokens that a translation never holds; left out: <unk>, <pad> and <bos>",
    "compat_decode": f"{one_of('compat_decode')}: d2l decodes as the book's code does",
}

# Fields of TrainingRecipe, each with its default.
TRAINING: dict[str, tuple[Any, str]] = {
    "optimizer": ("adam", "adam or sgd"),
    "learning_rate": (0.001, "the schedule's factor, above 0"),
    "betas": ((0.9, 0.999), "adam's two decay rates, each from 0 to below 1"),
    "eps": (1e-8, "adam's epsilon, above 0"),
    "momentum": (0.0, "of sgd, from 0 to below 1"),
    "clip_norm": (1.0, "the largest norm of all gradients together; 0: any"),
    "normalization": ("tokens", "the loss is a mean over tokens, or over steps as in D2L"),
    "label_smoothing": (0.0, "share of probability for all other tokens, from 0 to below 1"),
    "seed": (0, "of initial weights, data order and dropout"),
    "epochs": (10, "epochs in all, those before a resume counted"),
    "batch_size": (64, "sentence pairs in a step"),
    "num_steps": (None, "cut and pad every sentence to N tokens; 0: cut none, pad little"),
    "num_examples": (None, "read only the first N lines; 0: all"),
    "min_freq": (1, "rarer tokens are unknown words"),
    "pipeline": ("d2l", "how text becomes tokens: d2l (lower case, a space before , . ! ?) or words (split at spaces)"),
    "schedule": ("constant", "of the learning rate: constant, linear, inverse_square_root or vaswani"),
    "warmup_steps": (0, "steps of the schedule's warm-up"),
    "initialization": ("xavier", "of the weights: xavier or torch_default"),
    "early_stopping": (None, "stop after N epochs without a lower validation loss; 0: never"),
    "keep": ("best", "the checkpoint's model: best by validation loss, or last; without validation the last"),
}

DATA: dict[str, str] = {
    "source": "SOURCE TAB TARGET lines, .jsonl, or the source side with a target; .gz too",
    "target": "the target side, line by line",
    "fields": "two field names of JSON lines, source first",
    "validation": "pairs whose loss is measured after every epoch, and which are translated and scored at the end",
    "validation_target": "the target side of the validation",
}

RUN: dict[str, str] = {
    "preset": "a published architecture with its recipe",
    "out": "the checkpoint folder",
    "backend": "the framework; else TRANSFORMER_MB_BACKEND, else numpy",
    "device": "as the framework names it; else its default",
    "dtype": "of weights and activations",
    "save_every": "epochs between two checkpoints",
    "save_every_steps": "steps between two checkpoints, besides",
}
RUN_DEFAULTS: dict[str, Any] = {"dtype": "float32", "save_every": 10}
NONE_AS_ZERO = ("num_steps", "num_examples", "clip_norm", "early_stopping")  # TOML and flags have no None: 0 says it
BOTH_SIDES = ("num_layers", "num_heads")  # the encoder's and the decoder's at once
OF_VOCABULARIES = ("source_vocab_size", "target_vocab_size", "pad_id", "bos_id", "eos_id")
