"""Says what a document and a terminal cannot hold."""

from transformer_mb.backends.numpy import NumPyBackend


class LoudBackend(NumPyBackend):
    name = "loud"

    @classmethod
    def version(cls):
        return "1.0 | <b>\n"

    def apply(self, *inputs, **options):
        raise ValueError("\x1b[2J \x00 \ufffe")


BACKEND = LoudBackend
