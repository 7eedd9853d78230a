"""D2L's own classes and functions of the d2l package, as the book's pages call them: ``framework=NAME``, for torch ``device``.

Training is the body of its ``train_seq2seq`` on the batches of its ``load_array``, decoding is its ``predict_seq2seq``.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace
from functools import partial

import numpy as np

from transformer_mb.config import TransformerConfig
from transformer_mb.porting.families.d2l_classes import TRANSPOSED
from transformer_mb.porting.families.naming_schemes import is_matrix
from transformer_mb.porting.proof.reference_runs.d2l_book import make, sizes_of


class Words:
    """The methods that D2L's functions ask of its own vocabulary class."""

    def __init__(self, entries):
        self.entries, self.ids = entries, {entry: number for number, entry in enumerate(entries)}

    def __getitem__(self, tokens):
        return [self[token] for token in tokens] if isinstance(tokens, list) else self.ids.get(tokens, 0)

    def to_tokens(self, ids):
        return [self.entries[number] for number in ids]


class Contestant:
    def __init__(self, inputs, framework, device="cpu"):
        self.inputs = inputs
        config = TransformerConfig.from_dict(inputs.config)
        sizes = sizes_of(config)
        transposed = framework in TRANSPOSED
        weights = {name: array.T.copy() if transposed and is_matrix(name) else array for name, array in inputs.weights.items()}
        self.quiet = placed(make(framework, sizes), device)  # without dropout, as it is checked
        self.quiet.load(weights)
        self.version = f"d2l {importlib.metadata.version('d2l')} on {self.quiet.version}"
        self.training = "target_in" in inputs.arrays
        if self.training:
            self.book = placed(make(framework, replace(sizes, dropout=config.dropout)), device)
            self.book.load(weights)
            self.step = STEPS[framework](self.book, inputs.options["learning_rate"], config.bos_id)
            source, lens, _, target, target_lens = inputs.batches[0]
            arrays = tuple(map(self.book.given, (source, lens, target, target_lens)))
            self.batches = self.book.d2l.load_array(arrays, inputs.job["batch_size"])
        else:
            self.vocabularies = [Words(entries) for entries in inputs.job["entries"]]
            self.predict = PREDICT[framework](self.quiet, device)
            self.quiet.causal = False

    def check(self):
        if not self.training:
            return self.translations()
        source, lens, target_in, target_out, target_lens = self.inputs.batches[0]
        logits = self.quiet.logits(source, lens, target_in).astype(np.float64)
        logits -= logits.max(axis=-1, keepdims=True)
        log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        losses = -np.take_along_axis(log_probs, target_out[..., None], axis=-1)[..., 0]
        return float(losses[np.arange(losses.shape[1]) < target_lens[:, None]].mean())

    def round(self):
        if not self.training:
            return sum(len(text.split()) + 1 for text in self.translations())
        for batch in self.batches:
            loss = self.step(*batch)
        float(loss)
        self.book.finish()
        return self.inputs.target_tokens

    def translations(self):
        sources, steps = self.inputs.job["sources"], self.inputs.options["steps"]
        return [self.predict(self.quiet.net, text, *self.vocabularies, steps)[0] for text in sources]


def placed(book, device):
    """The book's model and the arrays that it is given, on a device; its training moves each batch there by itself."""
    book.given = book.tensor
    book.finish = book.torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    if device != "cpu":
        book.net.to(device)
        book.tensor = lambda array: book.torch.from_numpy(array).to(device)
        book.array = lambda outputs: outputs.detach().cpu().numpy()
    return book


def torch_step(book, learning_rate, bos):
    torch, loss_of = book.torch, book.d2l.MaskedSoftmaxCELoss()
    optimizer = torch.optim.Adam(book.net.parameters(), lr=learning_rate)
    device = next(book.net.parameters()).device

    def step(*batch):
        optimizer.zero_grad()
        X, X_valid_len, Y, Y_valid_len = [array.to(device) for array in batch]
        start = torch.tensor([bos] * Y.shape[0], device=device).reshape(-1, 1)
        logits, _ = book.net(X, torch.cat([start, Y[:, :-1]], 1), X_valid_len)
        loss = loss_of(logits, Y, Y_valid_len).sum()
        loss.backward()
        book.d2l.grad_clipping(book.net, 1)
        optimizer.step()
        return loss.detach()

    return step


def mxnet_step(book, learning_rate, bos):
    mxnet, loss_of = book.mxnet, book.d2l.MaskedSoftmaxCELoss()
    trainer = mxnet.gluon.Trainer(book.net.collect_params(), "adam", {"learning_rate": learning_rate})

    def step(X, X_valid_len, Y, Y_valid_len):
        start = mxnet.np.array([bos] * Y.shape[0], dtype=Y.dtype).reshape(-1, 1)
        with mxnet.autograd.record():
            logits, _ = book.net(X, mxnet.np.concatenate([start, Y[:, :-1]], 1), X_valid_len)
            loss = loss_of(logits, Y, Y_valid_len)
        loss.backward()
        book.d2l.grad_clipping(book.net, 1)
        trainer.step(Y_valid_len.sum())
        return loss.sum()

    return step


def paddle_step(book, learning_rate, bos):
    paddle, loss_of = book.paddle, book.d2l.MaskedSoftmaxCELoss()
    optimizer = paddle.optimizer.Adam(learning_rate=learning_rate, parameters=book.net.parameters())

    def step(X, X_valid_len, Y, Y_valid_len):
        optimizer.clear_grad()
        start = paddle.to_tensor([bos] * Y.shape[0]).reshape([-1, 1])
        logits, _ = book.net(X, paddle.concat([start, Y[:, :-1]], 1), X_valid_len.squeeze())
        loss = loss_of(logits, Y, Y_valid_len.squeeze())
        loss.backward()
        book.d2l.grad_clipping(book.net, 1)
        optimizer.step()
        return loss.sum()

    return step


def tensorflow_step(book, learning_rate, bos):
    tensorflow = book.tensorflow
    optimizer = tensorflow.keras.optimizers.Adam(learning_rate=learning_rate)

    def step(X, X_valid_len, Y, Y_valid_len):
        start = tensorflow.reshape(tensorflow.constant([bos] * Y.shape[0], Y.dtype), shape=(-1, 1))
        with tensorflow.GradientTape() as tape:
            logits, _ = book.net(X, tensorflow.concat([start, Y[:, :-1]], 1), X_valid_len, training=True)
            loss = book.d2l.MaskedSoftmaxCELoss(Y_valid_len)(Y, logits)
        gradients = book.d2l.grad_clipping(tape.gradient(loss, book.net.trainable_variables), 1)
        optimizer.apply_gradients(zip(gradients, book.net.trainable_variables, strict=True))
        return tensorflow.reduce_sum(loss)

    return step


def mxnet_predict(book, device):
    book.mxnet.autograd.set_training(False)
    return partial(book.d2l.predict_seq2seq, device=book.mxnet.cpu())


PREDICT = {
    "torch": lambda book, device: partial(book.d2l.predict_seq2seq, device=device),
    "mxnet": mxnet_predict,
    "paddle": lambda book, device: partial(book.d2l.predict_seq2seq, device=book.paddle.CPUPlace()),
    "tensorflow": lambda book, device: book.d2l.predict_seq2seq,
}
STEPS = {"torch": torch_step, "mxnet": mxnet_step, "paddle": paddle_step, "tensorflow": tensorflow_step}
