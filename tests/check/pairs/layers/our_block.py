"""This project's encoder block in JAX, set as BERT's layer is."""

from transformer_mb.backends.jax import EncoderBlock


class Block(EncoderBlock):
    """An encoder block with biases, exact GELU and BERT's epsilon. x [B, T, D], lens [B] -> [B, T, D]."""

    def __init__(self, size=16, heads=4, hidden=24, *, rngs):
        options = {"activation": "gelu", "norm_eps": 1e-12, "norm_position": "post"}
        super().__init__(size, size, size, size, size, size, hidden, heads, 0.0, use_bias=True, rngs=rngs, **options)

    def __call__(self, x, lens):
        return super().__call__(x, self.valid(lens))

    @staticmethod
    def valid(lens):
        """How many leading keys each row attends to, int [B]."""
        return lens
