"""All options of a training in words, as ``--help``, ``train --print-config`` and docs/TRAINING.md show them.

Only names and words, and the defaults of TrainingRecipe. They are not in ``training/``, which imports NumPy: ``--help`` reads
them, and does without.
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
    "dropout": "rate on sublayer outputs, from 0 to below 1",
    "attention_dropout": "rate on attention weights; left out: as dropout",
    "embedding_dropout": "rate on embeddings with positions; left out: as dropout",
    "ffn_dropout": "rate after the feed-forward network's activation",
    "decoder_start_id": "the first token of a target; left out: <bos>",
    "suppress_ids": "tokens that a translation never holds; left out: <unk>, <pad> and <bos>",
    "compat_decode": f"{one_of('compat_decode')}: d2l decodes as the book's code does",
}

# Fields of TrainingRecipe, each with its default.
TRAINING: dict[str, tuple[Any, str]] = {
    "optimizer": ("adam", "adam, adamw or sgd"),
    "learning_rate": (0.001, "the schedule's factor, above 0"),
    "betas": ((0.9, 0.999), "the two decay rates of adam and adamw, each from 0 to below 1"),
    "eps": (1e-8, "epsilon of adam and adamw, above 0"),
    "momentum": (0.0, "of sgd, from 0 to below 1"),
    "weight_decay": (0.0, "of adamw, from 0 to below 1: each step takes learning_rate times that of every weight"),
    "clip_norm": (1.0, "the largest norm of all gradients together; 0: any"),
    "normalization": ("tokens", "the loss is a mean over tokens, or over steps as in D2L"),
    "label_smoothing": (0.0, "share of probability for all other tokens, from 0 to below 1"),
    "precision": (
        "full",
        "of matrix products: full; bf16, with float32 weights (torch, JAX, TensorFlow; NumPy imitates it); "
        "tf32 (torch, JAX on a GPU)",
    ),
    "compile": (False, "compile the whole step first, which takes a minute (torch; JAX and TensorFlow always compile)"),
    "seed": (0, "of initial weights, data order and dropout"),
    "epochs": (10, "epochs in all, those before a resume counted"),
    "max_steps": (None, "steps in all, in place of epochs; 0: epochs"),
    "batch_size": (64, "sentence pairs in a batch"),
    "batch_tokens": (None, "in place of batch_size: rows x padded width of a batch are at most N; 0: batch_size"),
    "accumulate": (1, "batches that make one step, as one batch of all their pairs would"),
    "num_steps": (None, "cut and pad every sentence to N tokens; 0: cut none, pad little"),
    "num_examples": (None, "read only the first N lines; 0: all"),
    "min_freq": (1, "rarer tokens are unknown words"),
    "pipeline": ("d2l", "text to tokens: d2l (lower case, a space before , . ! ?), words (split at spaces) or characters"),
    "schedule": ("constant", "of the learning rate: constant, linear, cosine, inverse_square_root, vaswani or plateau"),
    "warmup_steps": (0, "steps of the schedule's warm-up"),
    "schedule_steps": (None, "the step at which linear and cosine come to zero; 0: the last, which a longer training moves"),
    "plateau_factor": (0.5, "of the schedule plateau, above 0 and below 1: what lowers the rate"),
    "plateau_patience": (3, "of the schedule plateau: validations without a new best, after which the rate is lowered"),
    "initialization": ("xavier", "of the weights: xavier or torch_default"),
    "validate_every_steps": (None, "steps between two validations; 0: one after every epoch; the last step is always measured"),
    "validation_metric": ("loss", "loss, bleu or chrf: what the best validation and early stopping go by"),
    "validation_lines": (None, "translate the first N validation pairs each time; 0: all for bleu and chrf, else none"),
    "validation_tokenize": ("13a", "sacreBLEU's tokenization for bleu: 13a, intl, zh, ja-mecab, ko-mecab, char or none"),
    "early_stopping": (None, "stop after N validations that were no new best; 0: never"),
    "keep": ("best", "the checkpoint's model: best by validation, or last; without validation the last"),
    "keep_best": (1, "save the weights of the N best validations for average; with keep = last of the N latest"),
}

FILES = ("source", "target", "validation", "validation_target")  # those of DATA that name files with text
DATA: dict[str, str] = {
    "source": "SOURCE TAB TARGET lines, .jsonl, or the source side with a target; .gz too",
    "target": "the target side, line by line",
    "tokenizer": "subwords, instead of a pipeline: a folder of `tokenizer train`, a tokenizer.json, a SentencePiece .model",
    "vocabulary": "words, one a line, a count may follow: for both sides, or for the source beside a target_vocabulary",
    "target_vocabulary": "the words of the target side",
    "fields": "two field names of JSON lines, source first",
    "columns": "two column numbers of lines with tabs, source first; else the first two",
    "bad_lines": "stop at lines that cannot be trained on (no UTF-8, no pair, NUL, far too long), or drop such lines",
    "cache": "the folder for ids that are mapped into memory; else files of 64 MiB and more get OUT.cache, others none",
    "validation": "pairs that are measured after every epoch or every validate_every_steps, and scored at the end",
    "validation_target": "the target side of the validation",
}

# Of translating: the same as of ``evaluate``.
DECODING: dict[str, str] = {
    "beam": "hypotheses of the beam search; 1 decodes greedily",
    "length_penalty": "of the beam search: 0 is none, more (to 10) favors longer translations",
    "coverage_penalty": "of the beam search: more (to 10) favors translations of the whole source",
    "max_steps": "the longest translation; 0: twice the source and more",
    "too_long": "of a line with more tokens than the model takes: cut or skip it, or stop",
}

RUN: dict[str, str] = {
    "preset": "a published architecture with its recipe",
    "out": "the checkpoint folder",
    "init_from": "begin from the model of this checkpoint folder, with its vocabularies and a new optimizer",
    "backend": "the framework; else TRANSFORMER_MB_BACKEND, else numpy",
    "device": "as the framework names it; else its default",
    "dtype": "of weights and activations",
    "save_every": "epochs between two checkpoints",
    "save_every_steps": "steps between two checkpoints, besides",
    "log": "a file of JSON lines: each reading of the loss, and each validation",
    "tensorboard": "a folder for TensorBoard: the same",
    "processes": "on this machine, which take each step together",
}
RUN_DEFAULTS: dict[str, Any] = {"dtype": "float32", "save_every": 10}
# TOML and flags have no None: 0 says it.
NONE_AS_ZERO = (
    *("batch_tokens", "num_steps", "num_examples", "clip_norm", "early_stopping"),
    *("validate_every_steps", "validation_lines", "max_steps", "schedule_steps"),
)
OF_VOCABULARIES = ("source_vocab_size", "target_vocab_size", "pad_id", "bos_id", "eos_id")
