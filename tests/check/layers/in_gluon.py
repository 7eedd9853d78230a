"""A layer in MXNet, ported from that in PyTorch."""

from mxnet import gluon, np


class Perceptron(gluon.nn.Block):
    def __init__(self, size, rate=0.0):
        super().__init__()
        self.drop = gluon.nn.Dropout(rate)
        self.one, self.two = gluon.nn.Dense(2 * size, flatten=False), gluon.nn.Dense(3, flatten=False)
        self.norm = gluon.nn.LayerNorm(epsilon=1e-5)

    def forward(self, x):
        return self.two(self.drop(np.tanh(self.norm(self.one(x)))))
