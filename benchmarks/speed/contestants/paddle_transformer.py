"""paddle.nn.Transformer with embeddings, positions and an output projection around it, in Paddle's own defaults."""

from __future__ import annotations

import math

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

from transformer_mb.config import TransformerConfig
from transformer_mb.porting.families import paddle_transformer
from transformer_mb.porting.model import PortedModel
from transformer_mb.positions import sinusoid_table


class Model(nn.Layer):
    def __init__(self, config, dropout):
        super().__init__()
        width, vocabulary = config.num_hiddens, config.target_vocab_size
        self.scale, self.dropout = math.sqrt(width), nn.Dropout(dropout)
        self.source_embedding, self.target_embedding = (nn.Embedding(vocabulary, width) for _ in range(2))
        sizes = (config.encoder_num_heads, config.encoder_num_layers, config.decoder_num_layers, config.ffn_num_hiddens)
        self.transformer = nn.Transformer(width, *sizes, dropout)
        self.output = nn.Linear(width, vocabulary)
        table = sinusoid_table(config.max_len, width, config.sinusoid_layout).astype(np.float32)
        self.register_buffer("positions", paddle.to_tensor(table), persistable=False)

    def embedded(self, table, tokens):
        return self.dropout(table(tokens) * self.scale + self.positions[: tokens.shape[1]])

    def forward(self, source, target):
        causal = self.transformer.generate_square_subsequent_mask(target.shape[1])
        embedded = self.embedded(self.source_embedding, source), self.embedded(self.target_embedding, target)
        return self.output(self.transformer(*embedded, tgt_mask=causal))


def model_of(inputs, dropout):
    config = TransformerConfig.from_dict(inputs.config)
    model = Model(config, dropout)
    native = paddle_transformer.ROW.write(PortedModel(config=config, weights=inputs.weights), "paddle", {})
    missing, unexpected = model.set_state_dict({name: paddle.to_tensor(array) for name, array in native.tensors.items()})
    assert not missing and not unexpected, (missing, unexpected)
    return model


class Contestant:
    def __init__(self, inputs):
        self.inputs = inputs
        self.version = f"paddle {paddle.__version__}"
        self.batches = [tuple(map(paddle.to_tensor, batch)) for batch in inputs.batches]
        self.model = model_of(inputs, inputs.config["dropout"])
        self.optimizer = paddle.optimizer.Adam(
            learning_rate=inputs.options["learning_rate"],
            parameters=self.model.parameters(),
            grad_clip=nn.ClipGradByGlobalNorm(inputs.options["clip_norm"]),
        )

    def loss(self, model, batch):
        source, _, target_in, target_out, _ = batch  # nothing is padded
        logits = model(source, target_in)
        return F.cross_entropy(logits.flatten(0, 1), target_out.flatten())

    def check(self):
        with paddle.no_grad():
            return float(self.loss(model_of(self.inputs, 0.0), self.batches[0]))

    def round(self):
        for batch in self.batches:
            self.optimizer.clear_grad()
            loss = self.loss(self.model, batch)
            loss.backward()
            self.optimizer.step()
        float(loss)
        return self.inputs.target_tokens
