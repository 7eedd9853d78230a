"""torch.nn.Transformer with embeddings, positions and an output projection around it, in PyTorch's own defaults."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from transformer_mb.config import TransformerConfig
from transformer_mb.porting.families import torch_transformer
from transformer_mb.porting.model import PortedModel
from transformer_mb.positions import sinusoid_table


class Model(nn.Module):
    def __init__(self, config, dropout):
        super().__init__()
        width, vocabulary = config.num_hiddens, config.target_vocab_size
        self.scale, self.dropout = math.sqrt(width), nn.Dropout(dropout)
        self.source_embedding, self.target_embedding = (nn.Embedding(vocabulary, width) for _ in range(2))
        sizes = (config.encoder_num_heads, config.encoder_num_layers, config.decoder_num_layers, config.ffn_num_hiddens)
        self.transformer = nn.Transformer(width, *sizes, dropout, batch_first=True, layer_norm_eps=config.norm_eps)
        self.output = nn.Linear(width, vocabulary)
        table = sinusoid_table(config.max_len, width, config.sinusoid_layout)
        self.register_buffer("positions", torch.from_numpy(table).float(), persistent=False)

    def embedded(self, table, tokens):
        return self.dropout(table(tokens) * self.scale + self.positions[: tokens.shape[1]])

    def forward(self, source, target):
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], target.device)
        embedded = self.embedded(self.source_embedding, source), self.embedded(self.target_embedding, target)
        return self.output(self.transformer(*embedded, tgt_mask=causal, tgt_is_causal=True))


def model_of(inputs, dropout):
    config = TransformerConfig.from_dict(inputs.config)
    model = Model(config, dropout)
    native = torch_transformer.ROW.write(PortedModel(config=config, weights=inputs.weights), "torch", {})
    model.load_state_dict({name: torch.tensor(array) for name, array in native.tensors.items()})
    return model


class Contestant:
    def __init__(self, inputs, precision="full", device="cpu"):
        self.inputs, self.precision, self.device = inputs, precision, torch.device(device)
        self.version = f"torch {torch.__version__}"
        self.batches = [tuple(torch.from_numpy(array).to(device) for array in batch) for batch in inputs.batches]
        self.model = model_of(inputs, inputs.config["dropout"]).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=inputs.options["learning_rate"])

    def loss(self, model, batch, precision):
        source, _, target_in, target_out, _ = batch  # nothing is padded
        with torch.autocast(self.device.type, torch.bfloat16, enabled=precision == "bf16"):
            logits = model(source, target_in)
            return F.cross_entropy(logits.flatten(0, 1), target_out.flatten())

    def check(self):
        with torch.no_grad():
            return float(self.loss(model_of(self.inputs, 0.0).to(self.device), self.batches[0], "full"))

    def round(self):
        for batch in self.batches:
            self.optimizer.zero_grad()
            loss = self.loss(self.model, batch, self.precision)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.inputs.options["clip_norm"])
            self.optimizer.step()
        float(loss)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return self.inputs.target_tokens
