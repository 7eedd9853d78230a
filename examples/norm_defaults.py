"""Layer norms of each framework on small numbers, with the epsilon that each takes by itself.

    python examples/norm_defaults.py            # every framework that is installed, each in a process of its own
    python examples/norm_defaults.py torch

``backend.apply`` runs any layer of a framework on NumPy arrays, so the same lines measure all of them. The rows have mean 0 and
deviation 0.01; a norm without epsilon would give them deviation 1, and one with epsilon e gives sqrt(1 / (1 + e / 0.01 ** 2)).
"""

import subprocess
import sys

import numpy as np

import transformer_mb as tmb
from transformer_mb.registry import installed

DEVIATION = 0.01


def framework_norm(name: str, width: int):
    """The framework's layer, as its own documentation has one make it."""
    if name == "torch":
        import torch

        return torch.nn.LayerNorm(width)
    if name == "tensorflow":
        import keras

        return keras.layers.LayerNormalization()
    if name == "paddle":
        import paddle

        return paddle.nn.LayerNorm(width)
    if name == "mxnet":
        from mxnet.gluon import nn

        layer = nn.LayerNorm(in_channels=width)
        layer.initialize()
        return layer
    if name == "jax":
        from flax import nnx

        return nnx.LayerNorm(width, rngs=nnx.Rngs(0))
    return tmb.get_backend(name).layer("LayerNorm", width)


def deviation_after(name: str) -> float:
    """The deviation of the rows after the framework's norm."""
    X = np.random.default_rng(0).standard_normal((4, 512))
    X = DEVIATION * (X - X.mean(1, keepdims=True)) / X.std(1, keepdims=True)
    backend = tmb.get_backend(name)
    return float(backend.apply(framework_norm(name, X.shape[1]), X.astype(np.float32)).std())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(f"{sys.argv[1]:12} {deviation_after(sys.argv[1]):.3f}")
    else:
        for name in installed():
            subprocess.run([sys.executable, __file__, name], check=True)
