"""A layer in Keras, ported from that in PyTorch."""

import keras


class Perceptron(keras.layers.Layer):
    def __init__(self, size, rate=0.0):
        super().__init__()
        self.drop = keras.layers.Dropout(rate)
        self.one, self.two = keras.layers.Dense(2 * size, name="one"), keras.layers.Dense(3, name="two")
        self.norm = keras.layers.LayerNormalization(epsilon=1e-5, name="norm")

    def call(self, x):
        return self.two(self.drop(keras.ops.tanh(self.norm(self.one(x)))))
