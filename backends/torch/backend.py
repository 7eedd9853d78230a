"""NumPy in, NumPy out, on torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from transformer_mb.config import TransformerConfig
from transformer_mb.native_backend import TapedBackend, in_mode
from transformer_mb.native_parameters import by_name

from . import model, settings
from .shortcuts.int8 import to_int8
from .trainer import TorchTrainer
from .weights import Parameter, named_parameters


class TorchBackend(TapedBackend, package=__package__):
    name = "torch"
    dtypes = ("float32", "float64", "bfloat16", "float16")
    own_types = (torch.dtype, torch.device)
    trainer_class = TorchTrainer
    gpu_settings = settings.SETTINGS

    @classmethod
    def version(cls) -> str:
        return torch.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]

    @classmethod
    def is_built_for_gpus(cls) -> bool:
        return torch.backends.cuda.is_built()

    def find_device(self, device: str | None) -> torch.device:
        found = torch.device(self.check_device("cuda:0" if device == "cuda" else device or "cpu", device))
        if found.type == "cuda":
            # Sums of two-byte products would be rounded on the way; the switches are the whole process's.
            torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
            torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        return found

    @property
    def hardware(self) -> str | None:
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else None

    def make(self, constructor: Callable[..., Any], *arguments: Any, **options: Any) -> nn.Module:
        return self._place(constructor(*arguments, **options))

    def create_empty(self, config: TransformerConfig) -> nn.Module:
        return self._place(model.EncoderDecoder.from_config(config))

    def _create_loaded(self, config: TransformerConfig) -> nn.Module:
        """Make it on PyTorch's device of no memory first, and give it memory where it is to be."""
        with torch.device("meta"):
            native = self.create_empty(config)
        return native.to_empty(device=self.device)

    def _place(self, module: nn.Module) -> nn.Module:
        """Inside ``torch.device("meta")`` a module gets no memory, as of PyTorch's own."""
        device = None if any(parameter.is_meta for parameter in module.parameters()) else self.device
        return module.to(device, getattr(torch, self.dtype))

    _to_int8 = staticmethod(to_int8)

    def _tensor(self, leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        dtype = getattr(torch, self.dtype) if leaf.dtype.kind == "f" else None
        return torch.as_tensor(leaf).to(self.device, dtype)

    def _numpy(self, leaf: Any) -> Any:
        return Parameter.to_numpy(leaf) if isinstance(leaf, Tensor) else leaf

    @contextmanager
    def _running(self, layer: Any, training: bool = False) -> Iterator[None]:
        with torch.no_grad(), in_mode(layer, training, _parts_in, _set_mode):
            yield

    @staticmethod
    def _forwards(layer: Any, compute: Callable[..., Tensor], where: Sequence[Tensor], direction: Sequence[Tensor]) -> Tensor:
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(compute(layer, *map(forward_ad.make_dual, where, direction))).tangent

    @staticmethod
    def _is_float(leaf: Any) -> bool:
        return isinstance(leaf, Tensor) and leaf.is_floating_point()

    def _taped(
        self, layer: Any, compute: Callable[[], Any], watched: Sequence[Any], cotangent: Any, training: bool
    ) -> tuple[Any, Sequence[Any], dict[str, np.ndarray]]:
        for leaf in watched:
            leaf.requires_grad_()
        parameters = named_parameters(layer)
        with in_mode(layer, training, _parts_in, _set_mode):
            output = compute()
        tensors = [*watched, *(parameter.value for parameter in parameters.values())]
        cotangent = torch.ones_like(output) if cotangent is None else cotangent.to(output.dtype)
        gradients = torch.autograd.grad(output, tensors, cotangent, materialize_grads=True)
        return output, gradients[: len(watched)], by_name(parameters, gradients[len(watched) :])


def _parts_in(layer: nn.Module, training: bool) -> list[nn.Module]:
    """Return the layers in this mode. ``layer.modules()``, which tells shared ones apart, would take four times as long."""
    layers = [layer]
    for one in layers:  # those within are appended on the way
        layers += [child for child in one._modules.values() if child is not None]
    return [one for one in layers if one.training == training]


def _set_mode(layer: nn.Module, training: bool) -> None:
    """``layer.train(training)``, whose assignments, checked one by one, would take a third of a short sentence's time."""
    kind = type(layer)
    if kind.train is not nn.Module.train or kind.__setattr__ is not nn.Module.__setattr__:
        layer.train(training)
        return
    vars(layer)["training"] = training
    for child in layer._modules.values():
        if child is not None:
            _set_mode(child, training)
