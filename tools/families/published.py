"""Published models by name: their configurations, with fewer rows of the vocabulary and narrower layers, and nothing else."""

from __future__ import annotations

from typing import Any

ROWS = 97  # of a vocabulary
PER_HEAD, PER_HEAD_WIDE = 4, 6  # widths of the model and of its feed-forward network, of each head
BOTH = ("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads")


def _both(layers: tuple[int, int], heads: int, **fields: Any) -> dict[str, Any]:
    """Return the fields of an encoder and a decoder."""
    sizes = dict(zip(BOTH, (*layers, heads, heads), strict=True))
    wide = {"encoder_ffn_dim": PER_HEAD_WIDE * heads, "decoder_ffn_dim": PER_HEAD_WIDE * heads}
    return {"vocab_size": ROWS, "d_model": PER_HEAD * heads, **sizes, **wide, **fields}


def _one(layers: int, heads: int, **fields: Any) -> dict[str, Any]:
    """Return the fields of BERT and its kin."""
    widths = {"hidden_size": PER_HEAD * heads, "intermediate_size": PER_HEAD_WIDE * heads}
    return {"vocab_size": ROWS, "num_hidden_layers": layers, "num_attention_heads": heads, **widths, **fields}


MARIAN_IDS = {"pad_token_id": ROWS - 1, "decoder_start_token_id": ROWS - 1, "bos_token_id": 0, "eos_token_id": 0}
LARGE = {"max_position_embeddings": 1024, "scale_embedding": True}
NLLB = _both((12, 12), 16, activation_function="relu", **LARGE)
UNTIED = {"tie_word_embeddings": False}
ROBERTA = _one(12, 12, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5)
DISTILBERT = {"vocab_size": ROWS, "n_layers": 6, "n_heads": 12, "dim": PER_HEAD * 12, "hidden_dim": PER_HEAD_WIDE * 12}
T5 = {
    **{"vocab_size": ROWS, "d_model": PER_HEAD * 8, "d_kv": PER_HEAD - 1, "d_ff": PER_HEAD_WIDE * 8, "num_heads": 8},
    **{"num_layers": 6, "num_decoder_layers": 6, "decoder_start_token_id": 0, "relative_attention_num_buckets": 32},
}
T5_1_1 = {**T5, "num_heads": 6, "num_layers": 8, "num_decoder_layers": 8, "feed_forward_proj": "gated-gelu", **UNTIED}
# By name: the class that is saved, and its configuration.
PUBLISHED: dict[str, tuple[str, dict[str, Any]]] = {
    "opus-mt-en-de": (
        "MarianMTModel",
        _both((6, 6), 8, max_position_embeddings=512, activation_function="swish", scale_embedding=True, **MARIAN_IDS),
    ),
    "bart-base": ("BartForConditionalGeneration", _both((6, 6), 12, max_position_embeddings=1024)),
    "bart-large-mnli": ("BartForSequenceClassification", _both((12, 12), 16, max_position_embeddings=1024, num_labels=3)),
    "mbart-large-cc25": ("MBartForConditionalGeneration", _both((12, 12), 16, decoder_start_token_id=90, **LARGE)),
    "mbart-large-50": (
        "MBartForConditionalGeneration",
        _both((12, 12), 16, activation_function="relu", decoder_start_token_id=2, **LARGE),
    ),
    "pegasus-xsum": (
        "PegasusForConditionalGeneration",
        _both((16, 16), 16, activation_function="relu", max_position_embeddings=512, scale_embedding=True),
    ),
    "blenderbot-400M-distill": (
        "BlenderbotForConditionalGeneration",
        _both((2, 12), 32, max_position_embeddings=128, scale_embedding=True, encoder_no_repeat_ngram_size=0),
    ),
    "blenderbot_small-90M": (
        "BlenderbotSmallForConditionalGeneration",
        _both((8, 8), 16, activation_function="gelu", max_position_embeddings=512, scale_embedding=True),
    ),
    "nllb-200-distilled-600M": ("M2M100ForConditionalGeneration", NLLB),
    "m2m100_418M": ("M2M100ForConditionalGeneration", {**NLLB, "activation_dropout": 0.1}),
    "wmt19-en-de": (
        "FSMTForConditionalGeneration",
        {
            **{name: value for name, value in _both((6, 6), 16, max_position_embeddings=1024).items() if name != "vocab_size"},
            **{"src_vocab_size": ROWS, "tgt_vocab_size": ROWS - 6, "activation_function": "relu", "langs": ["en", "de"]},
        },
    ),
    "t5-small": ("T5ForConditionalGeneration", {**T5, "n_positions": 512}),
    "flan-t5-small": ("T5ForConditionalGeneration", {**T5_1_1, "n_positions": 512}),
    "byt5-small": ("T5ForConditionalGeneration", {**T5_1_1, "num_layers": 12, "num_decoder_layers": 4}),
    "mt5-small": ("MT5ForConditionalGeneration", T5_1_1),
    "gpt2": (
        "GPT2LMHeadModel",
        {"vocab_size": ROWS, "n_embd": PER_HEAD * 12, "n_head": 12, "n_layer": 12, "bos_token_id": 96, "eos_token_id": 96},
    ),
    "distilgpt2": (
        "GPT2LMHeadModel",
        {"vocab_size": ROWS, "n_embd": PER_HEAD * 12, "n_head": 12, "n_layer": 6, "bos_token_id": 96, "eos_token_id": 96},
    ),
    "opt-125m": (
        "OPTForCausalLM",
        {
            **{"vocab_size": ROWS, "hidden_size": PER_HEAD * 12, "word_embed_proj_dim": PER_HEAD * 12, "num_hidden_layers": 12},
            **{"num_attention_heads": 12, "ffn_dim": PER_HEAD_WIDE * 12, "max_position_embeddings": 2048},
        },
    ),
    "llama-2-7b": (
        "LlamaForCausalLM",
        _one(32, 32, max_position_embeddings=4096, num_key_value_heads=32, rms_norm_eps=1e-5),
    ),
    "llama-3-8b": (
        "LlamaForCausalLM",
        _one(32, 32, max_position_embeddings=8192, num_key_value_heads=8, rms_norm_eps=1e-5, rope_theta=500000.0),
    ),
    "tinyllama-1.1b": (
        "LlamaForCausalLM",
        _one(22, 32, max_position_embeddings=2048, num_key_value_heads=4, rms_norm_eps=1e-5),
    ),
    "mistral-7b-v0.3": (
        "MistralForCausalLM",
        _one(
            32, 32, max_position_embeddings=32768, num_key_value_heads=8, rms_norm_eps=1e-5, rope_theta=1e6, sliding_window=None
        ),
    ),
    "bert-base-uncased": ("BertForMaskedLM", _one(12, 12)),
    "all-MiniLM-L6-v2": ("BertModel", _one(6, 12)),
    "roberta-base": ("RobertaForMaskedLM", ROBERTA),
    "xlm-roberta-base": ("XLMRobertaForMaskedLM", ROBERTA),
    "roberta-large-mnli": ("RobertaForSequenceClassification", {**ROBERTA, **_one(24, 16), "num_labels": 3}),
    "distilbert-base-uncased": ("DistilBertForMaskedLM", DISTILBERT),
    "distilbert-sst-2": ("DistilBertForSequenceClassification", {**DISTILBERT, "num_labels": 2}),
    "distilbert-squad": ("DistilBertForQuestionAnswering", DISTILBERT),
}
# One of each family with few layers, for a quick look.
LAYERS = ("encoder_layers", "decoder_layers", "num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers")


def shallow(config: dict[str, Any], layers: int = 2) -> dict[str, Any]:
    """Return a configuration with fewer layers."""
    return {name: min(value, layers) if name in LAYERS else value for name, value in config.items()}
