"""The folders of the long sweep, as data, and what ``transformers`` itself computes for them."""

from pathlib import Path

import numpy as np

from elsewhere import flat
from porting import transformers_process

MARIAN = {
    "as published": {},
    **{f"marian {name}": {"activation_function": name} for name in ("relu", "gelu", "gelu_new", "gelu_pytorch_tanh", "silu")},
    "marian one head": {"encoder_attention_heads": 1, "decoder_attention_heads": 1},
    "marian 8 and 16 heads": {"encoder_attention_heads": 8, "decoder_attention_heads": 16},
    "marian 1 and 4 layers": {"encoder_layers": 1, "decoder_layers": 4},
    "marian not scaled": {"scale_embedding": False},
    "marian tied, not shared": {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 43},
    "marian nothing tied": {"tie_word_embeddings": False},
    "marian neither": {"tie_word_embeddings": False, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 43},
    "marian flags without effect": {
        "normalize_before": True,
        "normalize_embedding": True,
        "add_final_layer_norm": True,
        "add_bias_logits": True,
        "static_position_embeddings": False,
        "extra_pos_embeddings": 7,
        "encoder_layerdrop": 0.5,
        "decoder_layerdrop": 0.5,
    },
    "marian without an output bias": {},
}
BERT = {
    "bert": {},
    **{f"bert {name}": {"hidden_act": name} for name in ("relu", "gelu_new", "silu")},
    "bert one head": {"num_attention_heads": 1},
    "bert 4 layers": {"num_hidden_layers": 4},
    "bert another epsilon": {"layer_norm_eps": 1e-3},
    "bert three types": {"type_vocab_size": 3},
    "bert without pooler": {},
    "bert for masked words": {},
    "bert flags without effect": {"add_cross_attention": False, "classifier_dropout": 0.3, "tie_word_embeddings": False},
}
OPTIONS = {
    "bert without pooler": {"options": {"add_pooling_layer": False}},
    "bert for masked words": {"class": "BertForMaskedLM"},
}
BIAS = {"marian without an output bias": 0.0}
RIGHT = {**MARIAN, **BERT}
# What config.json is made to say of a good folder, which then is another model.
REFUSED = {
    "quick_gelu": ("as published", {"activation_function": "quick_gelu"}, "activation_function must be one of"),
    "gelu_fast": ("bert", {"hidden_act": "gelu_fast"}, "hidden_act must be one of"),
    "two inner sizes": ("as published", {"decoder_ffn_dim": 64}, "decoder_ffn_dim must be 48"),
    "decoder": ("bert", {"is_decoder": True}, "is_decoder must be False"),
    "relative positions": ("bert", {"position_embedding_type": "relative_key"}, "position_embedding_type must be 'absolute'"),
}
OTHERS = """camembert data2vec-text plbart albert electra mpnet deberta-v2 longt5 ernie megatron-bert convbert"""
SMALL = {
    "vocab_size": 41,
    **dict.fromkeys(("hidden_size", "d_model", "dim", "n_embd", "embedding_size", "word_embed_proj_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "encoder_layers", "decoder_layers", "n_layers", "n_layer", "num_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "encoder_attention_heads", "decoder_attention_heads", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("intermediate_size", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim", "hidden_dim", "d_ff"), 48),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 44),
    **{"n_head": 4, "d_kv": 8, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2},
}


def batch(kind):
    random = np.random.default_rng(7)
    lens = np.array([13, 1, 6, 9, 4])
    source = random.integers(1, 40, (5, 13))
    source[np.arange(13) >= lens[:, None]] = 40 if kind == "marian" else 0
    found = {"source": source, "source_valid_lens": lens}
    if kind == "marian":
        found["target"] = np.concatenate([np.full((5, 1), 40), random.integers(0, 40, (5, 10))], axis=1)
    return found


def make(place):
    """A folder for each name of the tables with random weights; ``from_pretrained``'s own outputs for each of ``RIGHT``."""
    from transformers import CONFIG_MAPPING, AutoModel

    place, found = Path(place), {}
    for name, config in RIGHT.items():
        kind = "marian" if name in MARIAN else "bert"
        wishes = {"family": kind, "config": config, "seed": 18, "bias": {0: 1.0}, "final_bias": BIAS.get(name, 1.0)}
        transformers_process.make(place / name, {**wishes, **OPTIONS.get(name, {})})
        found[name] = transformers_process.run(kind, place / name, batch(kind), 12)
    for name in OTHERS.split():
        config = CONFIG_MAPPING[name]()
        config = CONFIG_MAPPING[name](**{field: value for field, value in SMALL.items() if hasattr(config, field)})
        AutoModel.from_config(config).save_pretrained(place / name)
    return flat(found), {}
