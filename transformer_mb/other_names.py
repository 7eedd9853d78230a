"""Other libraries' names for the arguments of such layers, and ours.

``layer_calls`` refuses a name of theirs by the row of this table; docs/NAMES.md shows the table.
"""

from __future__ import annotations

from typing import NamedTuple


class OtherName(NamedTuple):
    where: str  # who calls it so
    ours: tuple[str, ...]  # arguments of our layers, calls or constructors, that say the same
    instead: str  # what to give, as the end of a sentence


LENGTHS = ("valid_lens", "mask")
HIDDEN = "give valid_lens=, how many leading keys count, or mask=, True where a query may attend (there True hides)"
ALLOWED = "give mask=, True where a query may attend: [T, S], [B, T, S], or four dimensions up to [B, H, T, S]"
KEYS = "give valid_lens=, how many leading keys count, or mask=mask[:, None], True where a query may attend"
CAUSAL = "give causal=True"
SEES_THE_PAST = "a decoder is causal by itself"
MODE = "the model's own mode says so: model.train() and model.eval(), in Keras training="
WIDTH = "give num_hiddens, the width of the model"
SHAPE = "arrays are [B, T, D] always, the batch first"

OTHER_NAMES: dict[str, OtherName] = {
    # Masks
    "key_padding_mask": OtherName("torch.nn.MultiheadAttention", LENGTHS, HIDDEN),
    "src_key_padding_mask": OtherName("torch.nn.TransformerEncoder", LENGTHS, HIDDEN),
    "tgt_key_padding_mask": OtherName(
        "torch.nn.TransformerDecoder", (), "none is needed: a decoder's padding comes last, where no token looks; mask the loss"
    ),
    "memory_key_padding_mask": OtherName(
        "torch.nn.TransformerDecoder", ("enc_valid_lens",), "the state has it: init_state(enc_outputs, enc_valid_lens)"
    ),
    "key_mask": OtherName("Keras", LENGTHS, KEYS),
    "value_mask": OtherName("Keras", LENGTHS, KEYS),
    "query_mask": OtherName("Keras", (), "none is needed: what a padded query gets is read by nobody; mask the loss"),
    "valid_length": OtherName("MXNet", ("valid_lens",), "give valid_lens=, how many leading keys count"),
    "attn_mask": OtherName("torch, Paddle", ("mask",), ALLOWED),
    "src_mask": OtherName("torch, Paddle", ("mask",), ALLOWED),
    "attention_mask": OtherName("Keras, Hugging Face", LENGTHS, f"{ALLOWED}; or valid_lens=, how many leading keys count"),
    "encoder_attention_mask": OtherName(
        "Hugging Face", ("enc_valid_lens",), "the state has it: init_state(enc_outputs, enc_valid_lens)"
    ),
    "memory_mask": OtherName(
        "torch, Paddle", ("enc_valid_lens",), "the state has lengths: init_state(enc_outputs, enc_valid_lens)"
    ),
    "tgt_mask": OtherName("torch, Paddle", (), SEES_THE_PAST),
    "is_causal": OtherName("torch", ("causal",), CAUSAL),
    "use_causal_mask": OtherName("Keras", ("causal",), CAUSAL),
    "tgt_is_causal": OtherName("torch", (), SEES_THE_PAST),
    "memory_is_causal": OtherName("torch", (), "a decoder attends to the whole source"),
    # Weights of attention
    "return_attention_scores": OtherName("Keras", ("need_weights",), "give need_weights=True and read attention_weights"),
    "output_attentions": OtherName("Hugging Face", ("need_weights",), "give need_weights=True and read attention_weights"),
    "sow_weights": OtherName("flax", ("need_weights",), "give need_weights=True and read attention_weights"),
    "average_attn_weights": OtherName(
        "torch", ("need_weights",), "give need_weights=True; attention_weights are those of each head, [B, H, T, S]"
    ),
    # Modes
    "deterministic": OtherName("flax", (), MODE),
    "training": OtherName("Keras", (), MODE),
    "train": OtherName("flax", (), MODE),
    # Inputs
    "query": OtherName("torch, Keras, Paddle", ("queries",), "give queries"),
    "key": OtherName("torch, Keras, Paddle", ("keys",), "give keys"),
    "value": OtherName("torch, Keras, Paddle", ("values",), "give values"),
    "inputs_q": OtherName("flax", ("queries",), "give queries"),
    "inputs_k": OtherName("flax", ("keys",), "give keys"),
    "inputs_v": OtherName("flax", ("values",), "give values"),
    "hidden_states": OtherName("Hugging Face", ("X",), "give X"),
    "input_ids": OtherName("Hugging Face", ("enc_X",), "give enc_X, to a model, or X, to a stack"),
    "decoder_input_ids": OtherName("Hugging Face", ("dec_X",), "give dec_X"),
    "src": OtherName("torch", ("enc_X",), "give enc_X, to a model, or X, to a layer"),
    "tgt": OtherName("torch", ("dec_X",), "give dec_X, to a model, or X, to a layer"),
    "token_type_ids": OtherName("Hugging Face", ("token_types",), "give token_types="),
    "past_key_values": OtherName("Hugging Face", ("state",), "the decoder's state holds them, which each call returns anew"),
    "cache": OtherName("Paddle", ("state",), "the decoder's state holds them, which each call returns anew"),
    # Constructors
    "batch_first": OtherName("torch", (), SHAPE),
    "embed_dim": OtherName("torch, Paddle", ("num_hiddens",), WIDTH),
    "d_model": OtherName("torch, Paddle", ("num_hiddens",), WIDTH),
    "hidden_size": OtherName("Hugging Face", ("num_hiddens",), WIDTH),
    "qkv_features": OtherName("flax", ("num_hiddens",), WIDTH),
    "key_dim": OtherName("Keras", ("num_hiddens",), "give num_hiddens, which is key_dim times num_heads"),
    "kdim": OtherName("torch, Paddle", ("key_size",), "give key_size"),
    "vdim": OtherName("torch, Paddle", ("value_size",), "give value_size"),
    "nhead": OtherName("torch, Paddle", ("num_heads",), "give num_heads"),
    "dim_feedforward": OtherName("torch, Paddle", ("ffn_num_hiddens",), "give ffn_num_hiddens"),
    "intermediate_dim": OtherName("Keras", ("ffn_num_hiddens",), "give ffn_num_hiddens"),
    "intermediate_size": OtherName("Hugging Face", ("ffn_num_hiddens",), "give ffn_num_hiddens"),
    "feed_forward_proj": OtherName("Hugging Face", ("activation", "ffn_gated"), "give activation= and ffn_gated="),
    "d_kv": OtherName("Hugging Face", ("head_size",), "give head_size="),
    "num_key_value_heads": OtherName("Keras, Hugging Face", ("num_kv_heads",), "give num_kv_heads="),
    "head_dim": OtherName("Keras, Hugging Face", ("head_size",), "give head_size="),
    "rope_theta": OtherName("Hugging Face", ("position", "rotary_base"), 'give position="rotary" and rotary_base='),
    "norm_first": OtherName("torch", ("norm_position",), 'give norm_position="pre" or "post"'),
    "normalize_before": OtherName("Paddle", ("norm_position",), 'give norm_position="pre" or "post"'),
    "layer_norm_eps": OtherName("torch", ("norm_eps",), "give norm_eps="),
    "layer_norm_epsilon": OtherName("Keras", ("norm_eps",), "give norm_eps="),
    "normalized_shape": OtherName("torch, Paddle", ("norm_shape",), "give norm_shape, the trailing sizes"),
    "epsilon": OtherName("Keras, Paddle, MXNet, flax", ("eps",), "give eps="),
    "elementwise_affine": OtherName("torch", ("affine",), "give affine="),
    "bias": OtherName("torch", ("use_bias",), "give use_bias="),
    "dropout_rate": OtherName("flax", ("dropout",), "give dropout"),
    "dropout_p": OtherName("torch", ("dropout",), "give dropout, to the constructor"),
    "attn_dropout": OtherName("Paddle", ("attention_dropout",), "give attention_dropout="),
    "act_dropout": OtherName("Paddle", ("ffn_dropout",), "give ffn_dropout="),
    "num_encoder_layers": OtherName("torch, Paddle", ("encoder_num_layers",), "the configuration has encoder_num_layers"),
    "num_decoder_layers": OtherName("torch, Paddle", ("decoder_num_layers",), "the configuration has decoder_num_layers"),
}  # fmt: skip
