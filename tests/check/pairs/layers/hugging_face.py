"""Layers and a model of Hugging Face transformers, with few sizes and no dropout."""

import torch
from transformers import BertConfig, GPT2Config, GPT2Model, T5Config
from transformers.models.bert.modeling_bert import BertLayer
from transformers.models.t5.modeling_t5 import T5Block


def added(lens, size, like):
    """Return the summand of the scores [B, 1, 1, size]: the lowest finite number from ``lens`` [B] on, else 0."""
    outside = torch.arange(size) >= lens[:, None]
    return (outside * torch.finfo(like.dtype).min)[:, None, None, :].to(like.dtype)


class Bert(BertLayer):
    """One layer of BERT. x [B, T, D], lens [B] -> [B, T, D]."""

    def __init__(self, size=16, heads=4, hidden=24):
        config = BertConfig(
            hidden_size=size,
            num_attention_heads=heads,
            intermediate_size=hidden,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="eager",
        )
        super().__init__(config)

    def forward(self, x, lens):
        return super().forward(x, added(lens, x.shape[1], x))


class T5(T5Block):
    """One encoder block of T5 with its relative positions. x [B, T, D], lens [B] -> [B, T, D].

    Its norm computes the variance in float32 whatever the dtype of x.
    """

    def __init__(self, size=16, heads=4, head_size=5, hidden=24, buckets=8, distance=12):
        config = T5Config(
            d_model=size,
            d_kv=head_size,
            num_heads=heads,
            d_ff=hidden,
            relative_attention_num_buckets=buckets,
            relative_attention_max_distance=distance,
            dropout_rate=0.0,
            attn_implementation="eager",
        )
        super().__init__(config, has_relative_attention_bias=True)

    def forward(self, x, lens):
        return super().forward(x, attention_mask=added(lens, x.shape[1], x))[0]


class GPT2(GPT2Model):
    """GPT-2 without a head on top. ids [B, T] int -> [B, T, D]."""

    def __init__(self, vocabulary=23, positions=12, size=16, heads=4, layers=2):
        config = GPT2Config(
            vocab_size=vocabulary,
            n_positions=positions,
            n_embd=size,
            n_head=heads,
            n_layer=layers,
            initializer_range=0.2,  # as wide as trained weights are
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            resid_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=0,
            attn_implementation="eager",
        )
        super().__init__(config)

    def forward(self, ids):
        return super().forward(input_ids=ids.long(), use_cache=False).last_hidden_state
