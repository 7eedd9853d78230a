"""Layers in NumPy: a dense layer and its ports, right and wrong, which need no framework."""

import numpy as np

CALLS = []


class Dense:
    """Two outputs of one product, as a record, with weights in [out, in]."""

    def __init__(self, size, zero=False):
        self.weight = np.zeros((size, size)) if zero else np.random.default_rng(0).standard_normal((size, size))
        self.bias = np.zeros(size)

    def product(self, x):
        return x @ self.weight.T + self.bias

    def __call__(self, x, lens=None):
        h = self.product(x)
        if lens is not None:
            h = np.where((np.arange(h.shape[1]) < lens[:, None])[..., None], h, 0)
        return {"hidden": np.tanh(h), "sum": h.sum(-1)}


class Transposed(Dense):
    """The same with weights in [in, out]; ``wrong`` is a mistake by name."""

    def __init__(self, size, wrong=None):
        super().__init__(size)
        self.kernel, self.wrong = self.weight, wrong
        del self.weight

    def product(self, x):
        if self.wrong == "careful":
            return (np.float64(x) @ np.float64(self.kernel) + np.float64(self.bias)).astype(x.dtype)
        return np.einsum("...i,io->...o", x, self.kernel) + self.bias

    def __call__(self, x, lens=None):
        out = super().__call__(x, None if self.wrong == "ignores lengths" else lens)
        return MISTAKES[self.wrong](x, out) if self.wrong in MISTAKES else out


def _written(x, out):
    x *= 2.0
    return out


def _nan(x, out):
    out["sum"].flat[0] = np.nan
    return out


def _one_element(x, out):
    largest = np.argmax(np.abs(out["hidden"]))
    out["hidden"].flat[largest] *= 1.001
    return out


def _turns(x, out):
    CALLS.append(1)
    return {name: value * (1 + 1e-3 * len(CALLS)) for name, value in out.items()}


MISTAKES = {
    "writes": _written,
    "nan": _nan,
    "one element": _one_element,
    "other scale": lambda x, out: {**out, "hidden": out["hidden"] * (1 + 1e-6)},
    "no sum": lambda x, out: {"hidden": out["hidden"]},
    "more": lambda x, out: {**out, "more": out["sum"]},
    "shape": lambda x, out: {**out, "sum": out["sum"][None]},
    "dtype": lambda x, out: {**out, "sum": out["sum"].astype(np.float32)},
    "batch turned": lambda x, out: {name: value[::-1] for name, value in out.items()},
    "single inside": lambda x, out: {**out, "hidden": out["hidden"].astype(np.float32).astype(x.dtype)},
    "zeros": lambda x, out: {name: np.zeros_like(value) for name, value in out.items()},
    "counts": _turns,
}


class Scaled:
    """The last step is multiplied with a weight that is made as zero: nothing before it shows."""

    def __init__(self, size):
        self.inner, self.scale = Dense(size), np.zeros(size)

    def __call__(self, x):
        return self.inner(x)["hidden"] * self.scale


class Attention:
    """One head; softmax ignores the bias of keys."""

    def __init__(self, size):
        random = np.random.default_rng(1)
        self.q, self.k, self.v = random.standard_normal((3, size, size)) / np.sqrt(size)
        self.key_bias = np.zeros(size)

    def __call__(self, x, mask):
        q, k, v = x @ self.q, x @ self.k + self.key_bias, x @ self.v
        scores = np.where(mask[:, None], q @ np.swapaxes(k, 1, 2), -1e9)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v


def normed(x, one_pass=False):
    """Return what a norm of layers gives, by the two formulas for a variance: one cancels where the mean is large."""
    center = x.mean(-1, keepdims=True)
    variance = (x**2).mean(-1, keepdims=True) - center**2 if one_pass else ((x - center) ** 2).mean(-1, keepdims=True)
    return (x - center) / np.sqrt(np.abs(variance) + x.dtype.type(1e-5))


def doubled(x, times=2.0):
    return times * x


def added(x, times=2.0):
    return sum([x] * int(times))


def cubed(x, off=0, jumps=False):
    """Return x^3, too large by a number of last places of float32; with ``jumps`` it is another where x is not 1."""
    return (x**3 * (1 + off * 2.0**-23) + 1e-3 * (jumps & (x != 1))).astype(x.dtype)


def plain(x):
    return float(x.sum())


def _raises(x):
    raise ValueError("no such thing")


raising = _raises
