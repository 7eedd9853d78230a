"""Configurations that between them use every switch, small enough to run everywhere."""

import numpy as np

from transformer_mb.config import TransformerConfig

SMALL = {
    "source_vocab_size": 11,
    "target_vocab_size": 13,
    "num_hiddens": 8,
    "ffn_num_hiddens": 12,
    "encoder_num_heads": 2,
    "decoder_num_heads": 2,
    "max_len": 20,
}
ONE_TABLE = {**SMALL, "source_vocab_size": 13, "share_embeddings": True}
CONFIGS = {
    "d2l": TransformerConfig(**SMALL),
    "pre-norm, final norm": TransformerConfig(**{**SMALL, "encoder_num_heads": 4}, norm_position="pre", final_norm=True),
    "post-norm, biases, final norm": TransformerConfig(
        **SMALL, encoder_attention_bias=True, decoder_attention_bias=True, final_norm=True, norm_eps=1e-3
    ),
    "std norm": TransformerConfig(**SMALL, norm_kind="std_norm", norm_eps=1e-6, norm_position="pre", final_norm=True),
    "gelu, halves": TransformerConfig(**SMALL, activation="gelu", sinusoid_layout="halves", position_offset=1),
    "silu, uneven sides": TransformerConfig(**SMALL, activation="silu", encoder_num_layers=1, decoder_num_layers=3),
    "learned positions, tied": TransformerConfig(**SMALL, position="learned", tie_output=True, output_bias=False),
    "shared and tied, padding": TransformerConfig(
        **ONE_TABLE, tie_output=True, padding_vector_zero=True, activation="gelu_tanh", suppress_ids=(1,)
    ),
    "no affine, no ffn bias": TransformerConfig(**SMALL, norm_affine=False, ffn_bias=False, embedding_scale=False),
    "embedding norm": TransformerConfig(**SMALL, embedding_norm=True, ffn_dropout=0.2, attention_dropout=0.0),
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
