"""A layer in PaddlePaddle, ported from that in PyTorch."""

from paddle import nn


class Perceptron(nn.Layer):
    def __init__(self, size, rate=0.0):
        super().__init__()
        self.drop = nn.Dropout(rate)
        self.one, self.norm, self.two = nn.Linear(size, 2 * size), nn.LayerNorm(2 * size), nn.Linear(2 * size, 3)

    def forward(self, x):
        return self.two(self.drop(self.norm(self.one(x)).tanh()))
