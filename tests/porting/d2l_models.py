"""D2L's own classes of d2l 0.17.6 in four frameworks, one a process, with the decoder that the wheel lacks.

python d2l_models.py FRAMEWORK make FOLDER        a model with random weights, saved as its users do, and its logits
python d2l_models.py FRAMEWORK load FILE OUTPUT   the logits of a fresh model that has loaded FILE

The decoder is chapter 10.7.5 of the book in four spellings. Training mode with dropout 0, where it is causal.
TensorFlow runs it on Keras 2 (tf_keras); Paddle 3 takes the lengths as float32.
"""

import math
import os
import sys
import types
from pathlib import Path

import numpy as np

os.environ.update(TF_USE_LEGACY_KERAS="1", TF_CPP_MIN_LOG_LEVEL="3")
SOURCE_VOCAB, TARGET_VOCAB, D, F, HEADS, LAYERS = 11, 13, 8, 12, 2, 2
SOURCE = np.array([[4, 5, 6, 7, 3], [8, 3, 1, 1, 1], [10, 9, 4, 3, 1]])
LENS = np.array([5, 2, 4])
TARGET = np.array([[2, 5, 6, 7], [2, 8, 3, 1], [2, 9, 4, 12]])
FILES = {"torch": "model.pt", "mxnet": "model.params", "paddle": "model.pdparams", "tensorflow": "model.weights.h5"}
SIZES = (D, D, D, D, [D], D, F, HEADS)  # of a block in torch and Paddle


def import_d2l(name):
    for missing in ("torchvision", "torchvision.transforms"):
        sys.modules.setdefault(missing, types.ModuleType(missing))
    sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]
    import matplotlib

    matplotlib.use("Agg")
    return __import__(f"d2l.{name}", fromlist=[name])


def through_block(block, X, state, joined, lens, **options):
    """Self-attention over all that came before, cross-attention, FFN, each with its residual and norm."""
    outputs, valid_lens, seen = state
    seen[block.index] = X if seen[block.index] is None else joined(seen[block.index], X)
    keys = seen[block.index]
    Y = block.addnorm1(X, block.attention1(X, keys, keys, lens, **options), **options)
    Z = block.addnorm2(Y, block.attention2(Y, outputs, outputs, valid_lens, **options), **options)
    return block.addnorm3(Z, block.ffn(Z), **options), state


def new_state(outputs, valid_lens, *unused):
    return [outputs, valid_lens, [None] * LAYERS]


def numbered_lens(steps, rows):
    return np.tile(np.arange(1, steps + 1), (rows, 1))


def model_torch():
    import torch
    from torch import nn

    d2l = import_d2l("torch")

    class DecoderBlock(nn.Module):
        def __init__(self, index):
            super().__init__()
            self.index = index
            for number in (1, 2):
                setattr(self, f"attention{number}", d2l.MultiHeadAttention(D, D, D, D, HEADS, 0.0))
                setattr(self, f"addnorm{number}", d2l.AddNorm([D], 0.0))
            self.ffn = d2l.PositionWiseFFN(D, F, D)
            self.addnorm3 = d2l.AddNorm([D], 0.0)

        def forward(self, X, state):
            lens = torch.from_numpy(numbered_lens(X.shape[1], X.shape[0])) if self.training else None
            return through_block(self, X, state, lambda *both: torch.cat(both, dim=1), lens)

    class TransformerDecoder(d2l.AttentionDecoder):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(TARGET_VOCAB, D)
            self.pos_encoding = d2l.PositionalEncoding(D, 0.0)
            self.blks = nn.Sequential()
            for i in range(LAYERS):
                self.blks.add_module(f"block{i}", DecoderBlock(i))
            self.dense = nn.Linear(D, TARGET_VOCAB)

        init_state = staticmethod(new_state)

        def forward(self, X, state):
            X = self.pos_encoding(self.embedding(X) * math.sqrt(D))
            for block in self.blks:
                X, state = block(X, state)
            return self.dense(X), state

    torch.manual_seed(0)
    net = d2l.EncoderDecoder(d2l.TransformerEncoder(SOURCE_VOCAB, *SIZES, LAYERS, 0.0), TransformerDecoder()).train()
    for parameter in net.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)

    def logits():
        return net(*map(torch.from_numpy, (SOURCE, TARGET, LENS)))[0].detach().numpy()

    def load(file):
        net.load_state_dict(torch.load(file, weights_only=True))

    return logits, lambda file: torch.save(net.state_dict(), file), load


def model_mxnet():
    np.bool = bool  # MXNet 1.9.1 asks NumPy for it
    import mxnet as mx
    from mxnet import autograd, gluon, npx
    from mxnet import np as mnp
    from mxnet.gluon import nn

    npx.set_np()
    d2l = import_d2l("mxnet")

    class DecoderBlock(nn.Block):
        def __init__(self, index):
            super().__init__()
            self.index = index
            for number in (1, 2):
                setattr(self, f"attention{number}", d2l.MultiHeadAttention(D, HEADS, 0.0))
                setattr(self, f"addnorm{number}", d2l.AddNorm(0.0))
            self.ffn = d2l.PositionWiseFFN(F, D)
            self.addnorm3 = d2l.AddNorm(0.0)

        def forward(self, X, state):
            lens = mnp.array(numbered_lens(X.shape[1], X.shape[0])) if autograd.is_training() else None
            return through_block(self, X, state, lambda *both: mnp.concatenate(both, axis=1), lens)

    class TransformerDecoder(d2l.AttentionDecoder):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(TARGET_VOCAB, D)
            self.pos_encoding = d2l.PositionalEncoding(D, 0.0)
            self.blks = nn.Sequential()
            for i in range(LAYERS):
                self.blks.add(DecoderBlock(i))
            self.dense = nn.Dense(TARGET_VOCAB, flatten=False)

        def init_state(self, *state):
            return new_state(*state)

        def forward(self, X, state):
            X = self.pos_encoding(self.embedding(X) * math.sqrt(D))
            for block in self.blks:
                X, state = block(X, state)
            return self.dense(X), state

    mx.random.seed(0)
    encoder = d2l.TransformerEncoder(SOURCE_VOCAB, D, F, HEADS, LAYERS, 0.0)
    net = d2l.EncoderDecoder(encoder, TransformerDecoder())
    net.initialize(mx.init.Normal(0.4))

    def logits():
        with autograd.train_mode():
            return net(*(mnp.array(array) for array in (SOURCE, TARGET, LENS)))[0].asnumpy()

    def save(file):
        logits()  # gives the parameters their shapes
        for parameter in net.collect_params().values():
            data = parameter.data()
            data[:] = data + mnp.random.normal(0.0, 0.2, data.shape)
        net.save_parameters(str(file))

    assert isinstance(net, gluon.Block)
    return logits, save, lambda file: net.load_parameters(str(file))


def model_paddle():
    import paddle
    from paddle import nn

    d2l = import_d2l("paddle")

    class DecoderBlock(nn.Layer):
        def __init__(self, index):
            super().__init__()
            self.index = index
            for number in (1, 2):
                setattr(self, f"attention{number}", d2l.MultiHeadAttention(D, D, D, D, HEADS, 0.0))
                setattr(self, f"addnorm{number}", d2l.AddNorm([D], 0.0))
            self.ffn = d2l.PositionWiseFFN(D, F, D)
            self.addnorm3 = d2l.AddNorm([D], 0.0)

        def forward(self, X, state):
            lens = paddle.to_tensor(numbered_lens(X.shape[1], X.shape[0]), "float32") if self.training else None
            return through_block(self, X, state, lambda *both: paddle.concat(both, axis=1), lens)

    class TransformerDecoder(d2l.AttentionDecoder):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(TARGET_VOCAB, D)
            self.pos_encoding = d2l.PositionalEncoding(D, 0.0)
            self.blks = nn.Sequential()
            for i in range(LAYERS):
                self.blks.add_sublayer(str(i), DecoderBlock(i))
            self.dense = nn.Linear(D, TARGET_VOCAB)

        def init_state(self, *state):
            return new_state(*state)

        def forward(self, X, state):
            X = self.pos_encoding(self.embedding(X) * math.sqrt(D))
            for block in self.blks:
                X, state = block(X, state)
            return self.dense(X), state

    paddle.seed(0)
    net = d2l.EncoderDecoder(d2l.TransformerEncoder(SOURCE_VOCAB, *SIZES, LAYERS, 0.0), TransformerDecoder())
    net.train()
    for parameter in net.parameters():
        parameter.set_value(parameter + 0.2 * paddle.randn(parameter.shape))

    def logits():
        lens = paddle.to_tensor(LENS, "float32")
        return net(paddle.to_tensor(SOURCE), paddle.to_tensor(TARGET), lens)[0].numpy()

    def load(file):
        missing, unexpected = net.set_state_dict(paddle.load(str(file)))
        assert not missing and not unexpected, (missing, unexpected)

    return logits, lambda file: paddle.save(net.state_dict(), str(file)), load


def model_tensorflow():
    import tensorflow as tf

    d2l = import_d2l("tensorflow")

    class DecoderBlock(tf.keras.layers.Layer):
        def __init__(self, index):
            super().__init__()
            self.index = index
            for number in (1, 2):
                setattr(self, f"attention{number}", d2l.MultiHeadAttention(D, D, D, D, HEADS, 0.0))
                setattr(self, f"addnorm{number}", d2l.AddNorm([2], 0.0))  # axes, not sizes
            self.ffn = d2l.PositionWiseFFN(F, D)
            self.addnorm3 = d2l.AddNorm([2], 0.0)

        def call(self, X, state, **options):
            lens = tf.constant(numbered_lens(X.shape[1], X.shape[0]))
            return through_block(self, X, state, lambda *both: tf.concat(both, axis=1), lens, **options)

    class TransformerDecoder(d2l.AttentionDecoder):
        def __init__(self):
            super().__init__()
            self.embedding = tf.keras.layers.Embedding(TARGET_VOCAB, D)
            self.pos_encoding = d2l.PositionalEncoding(D, 0.0)
            self.blks = [DecoderBlock(i) for i in range(LAYERS)]
            self.dense = tf.keras.layers.Dense(TARGET_VOCAB)

        def init_state(self, *state):
            return new_state(*state)

        def call(self, X, state, **options):
            X = self.pos_encoding(self.embedding(X) * math.sqrt(D), **options)
            for block in self.blks:
                X, state = block(X, state, **options)
            return self.dense(X), state

    tf.random.set_seed(0)
    encoder = d2l.TransformerEncoder(SOURCE_VOCAB, D, D, D, D, [2], F, HEADS, LAYERS, 0.0)
    net = d2l.EncoderDecoder(encoder, TransformerDecoder())

    def logits():
        # The wheel's EncoderDecoder hands ``training`` to the encoder alone by keyword, and the lengths by position.
        return net(*(tf.constant(array) for array in (SOURCE, TARGET, LENS)), training=True)[0].numpy()

    def save(file):
        logits()  # makes the variables
        for variable in net.trainable_variables:
            variable.assign_add(0.2 * tf.random.normal(variable.shape))
        net.save_weights(file)
        tf.train.Checkpoint(model=net).write(str(file.with_name("checkpoint_of_model")))

    def load(file):
        logits()
        net.load_weights(file)

    return logits, save, load


def main(framework, what, path, output=None):
    logits, save, load = globals()[f"model_{framework}"]()
    path = Path(path)
    if what == "make":
        save(path / FILES[framework])
        output = path / "logits.npz"
    else:
        load(path)
    np.savez(output, logits=logits())


if __name__ == "__main__":
    main(*sys.argv[1:])
