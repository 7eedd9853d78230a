"""The peer: d2l 0.17.6's own torch classes, data loading, training step and predictor.

The wheel holds no decoder, so the book's is written here from its description (chapter 10.7.5) on d2l's layers. It also
imports torchvision, which the benchmark does not need: an empty stand-in takes its place.
"""

from __future__ import annotations

import math
import sys
import types

import torch
from torch import nn


def import_d2l():
    for name in ("torchvision", "torchvision.transforms"):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]
    import matplotlib

    matplotlib.use("Agg")
    from d2l import torch as d2l

    return d2l


d2l = import_d2l()
D, FFN, HEADS, LAYERS, DROPOUT, STEPS, BATCH, RATE = 32, 64, 4, 2, 0.1, 10, 64, 0.005


class Block(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index
        self.attention1 = d2l.MultiHeadAttention(D, D, D, D, HEADS, DROPOUT)
        self.addnorm1 = d2l.AddNorm([D], DROPOUT)
        self.attention2 = d2l.MultiHeadAttention(D, D, D, D, HEADS, DROPOUT)
        self.addnorm2 = d2l.AddNorm([D], DROPOUT)
        self.ffn = d2l.PositionWiseFFN(D, FFN, D)
        self.addnorm3 = d2l.AddNorm([D], DROPOUT)

    def forward(self, X, state):
        enc_outputs, enc_valid_lens, seen = state
        seen[self.index] = X if seen[self.index] is None else torch.cat((seen[self.index], X), dim=1)
        lens = torch.arange(1, X.shape[1] + 1, device=X.device).repeat(X.shape[0], 1) if self.training else None
        Y = self.addnorm1(X, self.attention1(X, seen[self.index], seen[self.index], lens))
        Z = self.addnorm2(Y, self.attention2(Y, enc_outputs, enc_outputs, enc_valid_lens))
        return self.addnorm3(Z, self.ffn(Z)), state


class Decoder(d2l.AttentionDecoder):
    def __init__(self, vocab_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, D)
        self.pos_encoding = d2l.PositionalEncoding(D, DROPOUT)
        self.blks = nn.ModuleList(Block(i) for i in range(LAYERS))
        self.dense = nn.Linear(D, vocab_size)

    def init_state(self, enc_outputs, enc_valid_lens, *unused):
        return [enc_outputs, enc_valid_lens, [None] * LAYERS]

    def forward(self, X, state):
        X = self.pos_encoding(self.embedding(X) * math.sqrt(D))
        for block in self.blks:
            X, state = block(X, state)
        return self.dense(X), state


class Peer:
    """d2l's model and loop; ``epoch()`` is one pass of its ``train_seq2seq``."""

    def __init__(self, pairs, seed=0):
        torch.manual_seed(seed)
        texts = [[d2l.preprocess_nmt(text).split(" ") for text in side] for side in zip(*pairs, strict=True)]
        reserved = ["<pad>", "<bos>", "<eos>"]
        self.source_vocab, self.target_vocab = (d2l.Vocab(side, min_freq=2, reserved_tokens=reserved) for side in texts)
        arrays = [
            array
            for side, vocab in zip(texts, (self.source_vocab, self.target_vocab), strict=True)
            for array in d2l.build_array_nmt(side, vocab, STEPS)
        ]
        self.batches = d2l.load_array(arrays, BATCH)
        encoder = d2l.TransformerEncoder(len(self.source_vocab), D, D, D, D, [D], D, FFN, HEADS, LAYERS, DROPOUT)
        self.net = d2l.EncoderDecoder(encoder, Decoder(len(self.target_vocab)))
        self.net.apply(lambda m: nn.init.xavier_uniform_(m.weight) if type(m) is nn.Linear else None)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=RATE)
        self.loss = d2l.MaskedSoftmaxCELoss()

    def epoch(self):
        self.net.train()
        metric = d2l.Accumulator(2)
        for batch in self.batches:
            self.optimizer.zero_grad()
            X, X_valid_len, Y, Y_valid_len = batch
            bos = torch.tensor([self.target_vocab["<bos>"]] * Y.shape[0]).reshape(-1, 1)
            Y_hat, _ = self.net(X, torch.cat([bos, Y[:, :-1]], 1), X_valid_len)
            loss = self.loss(Y_hat, Y, Y_valid_len)
            loss.sum().backward()
            d2l.grad_clipping(self.net, 1)
            self.optimizer.step()
            with torch.no_grad():
                metric.add(loss.sum(), Y_valid_len.sum())
        return metric[0] / metric[1]

    def translate(self, text):
        sentence = d2l.preprocess_nmt(text)
        return d2l.predict_seq2seq(self.net, sentence, self.source_vocab, self.target_vocab, STEPS, torch.device("cpu"))[0]
