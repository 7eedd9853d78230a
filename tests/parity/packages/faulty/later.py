"""NaN in every array of an answer but the first of each kind: what ``max`` over errors would not see."""

import numpy as np

from transformer_mb.backends.numpy import NumPyBackend


def _but_the_first(arrays):
    return {name: value if number == 0 else np.full_like(value, np.nan) for number, (name, value) in enumerate(arrays.items())}


class LaterBackend(NumPyBackend):
    name = "later"

    def gradients(self, *arguments, **options):
        output, by_input, by_name = super().gradients(*arguments, **options)
        return output, by_input, _but_the_first(by_name)

    def loss_and_gradients(self, *arguments, **options):
        loss, gradients = super().loss_and_gradients(*arguments, **options)
        return loss, _but_the_first(gradients)


BACKEND = LaterBackend
