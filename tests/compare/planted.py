"""Changes to frameworks' defaults, made in a worker before it measures."""


def tensorflow() -> None:
    """Another epsilon of Keras' layer normalization."""
    import keras

    made = keras.layers.LayerNormalization.__init__

    def init(self, *arguments, **options):
        made(self, *arguments, **{"epsilon": 1e-4, **options})

    keras.layers.LayerNormalization.__init__ = init


def jax() -> None:
    """The exact GELU as default; a mask of attention dropout for each row and head."""
    _gelu()
    _attention_dropout()


def _gelu() -> None:
    import jax

    tanh_or_exact = jax.nn.gelu

    def gelu(x, approximate=False):
        return tanh_or_exact(x, approximate)

    jax.nn.gelu = gelu


def torch() -> None:
    """Adam's weight decay decoupled, as AdamW's."""
    import torch

    made = torch.optim.Adam.__init__

    def init(self, *arguments, **options):
        made(self, *arguments, **{"decoupled_weight_decay": True, **options})

    torch.optim.Adam.__init__ = init


def _attention_dropout() -> None:
    from flax import nnx

    made = nnx.MultiHeadAttention.__init__

    def init(self, *arguments, **options):
        made(self, *arguments, **{"broadcast_dropout": False, **options})

    nnx.MultiHeadAttention.__init__ = init


def crash() -> None:
    """torch's layer normalization ends the process."""
    import os

    import torch

    torch.nn.LayerNorm.forward = lambda *arguments: os.abort()
