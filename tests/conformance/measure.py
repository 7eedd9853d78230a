"""How far two results are apart, and random weights that hide nothing."""

import numpy as np

from transformer_mb.random_streams import stream


def error(got, reference, floor=None):
    """||got - reference|| / max(||reference||, floor); the floor is 1e-2 sqrt(n) for an output of n numbers."""
    got, reference = np.asarray(got, np.float64), np.asarray(reference, np.float64)
    assert got.shape == reference.shape, f"shape {got.shape} instead of {reference.shape}"
    floor = 1e-2 * np.sqrt(reference.size) if floor is None else floor
    return float(np.linalg.norm(got - reference) / max(np.linalg.norm(reference), floor))


def gradient_errors(got, reference):
    """The worst error of a set of gradients; the floor is 1e-2 of the whole gradient's norm."""
    assert list(got) and set(got) == set(reference)
    whole = np.sqrt(sum(np.sum(np.square(value)) for value in reference.values()))
    return max(error(got[name], reference[name], 1e-2 * whole) for name in reference)


def random_weights(shapes, seed=7):
    """Asymmetric weights about their usual size, so that a forgotten transpose or a swapped pair shows.

    Each is drawn by its name: backends may list parameters in another order.
    """
    weights = {}
    for name, shape in shapes.items():
        scale = 1.0 / np.sqrt(shape[-1]) if len(shape) > 1 else 0.3
        one = name.endswith("weight") and ("norm" in name or ".ln." in name or name == "weight")
        weights[name] = float(one) + scale * stream(seed, name).standard_normal(shape)
    return weights
