"""Answers in a shape that broadcasting would let pass."""

from transformer_mb.backends.numpy import NumPyBackend


class MisshapenBackend(NumPyBackend):
    name = "misshapen"

    def apply(self, *inputs, **options):
        return super().apply(*inputs, **options)[:1]


BACKEND = MisshapenBackend
