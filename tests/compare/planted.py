"""Changes to frameworks' defaults, made in a worker before it measures: another worker in the place of the survey's."""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from transformer_mb.compare import survey, worker
from transformer_mb.registry import load_backend_class


@contextmanager
def planted(change=""):
    """Let columns that are measured inside make a change of this module first; that of their framework unless it is named."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey, "worker", sys.modules[__name__])
        patch.setenv("PLANTED_CHANGE", change)
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        yield


def begin(framework, device):
    """Begin as the survey's worker does, after the change."""
    load_backend_class(framework)
    globals()[os.environ["PLANTED_CHANGE"] or framework]()
    return worker.begin(framework, device)


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


def torch_told() -> None:
    """Refuse to make a tensor that is told no device; torch's optimizers count their steps on the CPU."""
    import inspect

    import torch.overrides
    from torch.utils._device import _device_constructors

    class Told(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            options = kwargs or {}
            untold = func in _device_constructors() and options.get("device") is None
            if untold and "optim" not in inspect.currentframe().f_back.f_code.co_filename:
                raise RuntimeError(f"{func.__name__} must be told a device.")
            return func(*args, **options)

    Told().__enter__()


def unusable_after_an_error() -> None:
    """As a GPU after an index out of bounds: once a framework has raised something, this process measures nothing more."""
    from dataclasses import replace

    measured, raised = worker.measured, []

    def measured_until_then(*arguments):
        fact = measured(*arguments)
        if raised:
            return replace(fact, value="raises RuntimeError", reason="The device is unusable.")
        raised.extend([fact] if fact.raised else [])
        return fact

    worker.measured = measured_until_then
