"""NumPy in, NumPy out, on torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.native_backend import NativeBackend
from transformer_mb.native_parameters import by_name
from transformer_mb.trees import leaves

from . import model, settings
from .dropout import injected_dropout
from .shortcuts.int8 import to_int8
from .trainer import TorchTrainer
from .weights import Parameter, named_parameters


class TorchBackend(NativeBackend, package=__package__):
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

    def _place(self, module: nn.Module) -> nn.Module:
        return module.to(self.device, getattr(torch, self.dtype))

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
        with torch.no_grad(), _mode(layer, training):
            yield

    def _differentiate(
        self, layer: Any, inputs: list[Any], options: dict[str, Any], cotangent: Any, training: bool
    ) -> tuple[Any, dict[int, Any], dict[str, np.ndarray]]:
        watched = [leaf for leaf in leaves(inputs) if isinstance(leaf, Tensor) and leaf.is_floating_point()]
        for leaf in watched:
            leaf.requires_grad_()
        parameters = named_parameters(layer)
        with _mode(layer, training):
            output = layer(*inputs, **options)
            output = output[0] if isinstance(output, tuple) else output
        tensors = [*watched, *(parameter.value for parameter in parameters.values())]
        gradients = torch.autograd.grad(output, tensors, cotangent.to(output.dtype), materialize_grads=True)
        by_leaf = {id(leaf): gradient for leaf, gradient in zip(watched, gradients, strict=False)}
        return output, by_leaf, by_name(parameters, gradients[len(watched) :])

    def run_loss_and_gradients(
        self, model: model.EncoderDecoder, batch: Batch, loss: Any, dropout_masks: Mapping[str, np.ndarray] | None
    ) -> tuple[float, dict[str, np.ndarray]]:
        source, valid_lens, target_in, target_out, target_valid_lens = map(self._tensor, batch)
        parameters = named_parameters(model)
        with _mode(model, dropout_masks is not None), injected_dropout(model, dropout_masks):
            logits, _ = model(source, target_in, valid_lens)
        total = loss(logits, target_out, target_valid_lens).sum()
        tensors = [parameter.value for parameter in parameters.values()]
        return total.item(), by_name(parameters, torch.autograd.grad(total, tensors, materialize_grads=True))


@contextmanager
def _mode(layer: Any, training: bool) -> Iterator[None]:
    """Training or evaluation mode inside, afterwards each part's own; plain functions have none."""
    before = getattr(layer, "training", training)
    if before == training:
        yield
        return
    others = _parts_in(layer, training)
    _set_mode(layer, training)
    try:
        yield
    finally:
        _set_mode(layer, before)
        for part in others:
            part.training = training


def _parts_in(layer: nn.Module, training: bool) -> list[nn.Module]:
    """Those in this mode. ``layer.modules()``, which tells shared ones apart, would take four times as long."""
    found = [layer] if layer.training == training else []
    for child in layer._modules.values():
        if child is not None:
            found += _parts_in(child, training)
    return found


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
