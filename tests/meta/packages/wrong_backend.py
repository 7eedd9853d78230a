"""A backend that is wrong about everything and complains about nothing: every conformance test must fail on it.

Whatever is asked for comes as NaN, each time in another shape, so that no comparison holds, not even with itself.
"""

import itertools

import numpy as np

counter = itertools.count(1)


class Nonsense:
    def __init__(self, *arguments, **options):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nonsense()

    def __call__(self, *arguments, **options):
        return np.full(next(counter), np.nan)

    def __float__(self):
        return np.nan


class WrongBackend(Nonsense):
    name = "wrong"
    dtypes = ()

    def trainer(self, model, **options):
        return Nonsense()

    def gradients(self, *arguments, **options):
        return self(), [self(), self(), self(), self()], {"weight": self()}

    def loss_and_gradients(self, *arguments, **options):
        return float("nan"), {"weight": self()}


BACKEND = WrongBackend
