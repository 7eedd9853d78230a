"""A backend of another package: NumPy's, with a layer of its own."""

from transformer_mb.backends.numpy import NumPyBackend


class LayerNorm(NumPyBackend.LayerNorm):
    """The same mathematics by other means: what is added to all of X is not seen."""

    def forward(self, X):
        return super().forward(X + 1.0)


class ElsewhereBackend(NumPyBackend):
    name = "elsewhere"
    LayerNorm = LayerNorm


BACKEND = ElsewhereBackend
