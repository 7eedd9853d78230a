"""A backend of another package: NumPy's, with a layer of its own."""

from transformer_mb.backends.numpy import NumPyBackend


class LayerNorm(NumPyBackend.LayerNorm):
    """The same mathematics by other means: the rows in another order."""

    def forward(self, X):
        return super().forward(X[::-1])[::-1]

    def backward(self, gradient):
        return super().backward(gradient[::-1])[::-1]


class ElsewhereBackend(NumPyBackend):
    name = "elsewhere"
    LayerNorm = LayerNorm


BACKEND = ElsewhereBackend
