"""NumPy in, NumPy out, on NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.native_backend import NativeBackend
from transformer_mb.native_parameters import by_name
from transformer_mb.trees import leaves

from . import attention, model, weights
from .dropout import injected_dropout
from .framework import Layer, softmax_backward
from .int8 import to_int8
from .rounding import SETTINGS, rounded_array, rounding_at_random, summing_in_turn
from .running import in_mode, no_gradients
from .trainer import NumPyTrainer


class NumPyBackend(NativeBackend, package=__package__):
    """NumPy in float32 or float64; with ``rounded_to``, every result is rounded further: see ``rounding``.

    Loss and optimizer stay in float32, as in every backend: of them only the gradient of the logits and the new weights are
    rounded, once.
    """

    name = "numpy"
    dtypes = ("float32", "float64")
    trainer_class = NumPyTrainer
    gpu_settings = SETTINGS
    rounding_at_random = staticmethod(rounding_at_random)
    summing_in_turn = staticmethod(summing_in_turn)

    def __init__(self, device: str | None = None, dtype: str = "float32", rounded_to: str | None = None):
        super().__init__(device, dtype)
        self.rounded_to = rounded_to

    @classmethod
    def version(cls) -> str:
        return np.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu"]

    @classmethod
    def is_built_for_gpus(cls) -> bool:
        return False

    @classmethod
    def without_gpu(cls) -> str:
        return "NumPy computes on processors alone"

    def find_device(self, device: str | None) -> str:
        return self.check_device(device or "cpu", device)

    def make(self, constructor: Callable[..., Any], *arguments: Any, **options: Any) -> Layer:
        return self._place(constructor(*arguments, **options))

    def create_empty(self, config: TransformerConfig) -> Layer:
        return self._place(model.EncoderDecoder.from_config(config))

    def _place(self, module: Layer) -> Layer:
        module.to(self.dtype)
        if self.rounded_to is not None:
            for _, parameter in module.named_parameters():
                parameter.value = rounded_array(parameter.value, self.rounded_to)
        return module

    _to_int8 = staticmethod(to_int8)
    imitates_int8 = True

    def _tensor(self, leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        # A copy, so that an array passed twice counts as two inputs.
        leaf = np.array(leaf, self.dtype if leaf.dtype.kind == "f" else None)
        return rounded_array(leaf, self.rounded_to)

    def _numpy(self, leaf: Any) -> Any:
        return np.array(leaf, order="C") if isinstance(leaf, np.ndarray) else leaf

    @contextmanager
    def _running(self, layer: Any, training: bool = False) -> Iterator[None]:
        with no_gradients(), in_mode(training):
            yield

    def _differentiate(
        self, layer: Any, inputs: list[Any], options: dict[str, Any], cotangent: Any, training: bool
    ) -> tuple[Any, dict[int, Any], dict[str, np.ndarray]]:
        layer = layer if isinstance(layer, Layer) else _Function(layer)
        layer.zero_gradients()
        with in_mode(training):
            output = layer(*inputs, **options)
        output = output[0] if isinstance(output, tuple) else output
        gradients = layer.backward(cotangent)
        remaining = iter(gradients if isinstance(gradients, tuple) else (gradients,))
        # One for each array of floats, zero where the layer does not read it.
        watched = [leaf for leaf in leaves(inputs) if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f"]
        pairs = [(leaf, next(remaining, None)) for leaf in watched]
        by_leaf = {id(leaf): np.zeros_like(leaf) if gradient is None else gradient for leaf, gradient in pairs}
        return output, by_leaf, _gradients(layer)

    def run_loss_and_gradients(
        self, model: model.EncoderDecoder, batch: Batch, loss: Any, dropout_masks: Mapping[str, np.ndarray] | None
    ) -> tuple[float, dict[str, np.ndarray]]:
        source, valid_lens, target_in, target_out, target_valid_lens = batch
        model.zero_gradients()
        with in_mode(dropout_masks is not None), injected_dropout(model, dropout_masks):
            logits, _ = model(source, target_in, valid_lens)
        losses = loss(logits, target_out, target_valid_lens)
        model.backward(loss.backward(np.ones_like(losses)))
        return float(losses.sum()), _gradients(model)


class _Function(Layer):
    """A plain function with its gradient, as a layer."""

    def __init__(self, function: Any):
        self.function = function

    def forward(self, *inputs: Any, **options: Any) -> np.ndarray:
        output = self.function(*inputs, **options)
        self.remember(output, inputs, options)
        return output

    def backward(self, gradient: np.ndarray) -> np.ndarray:
        output, inputs, options = self.recall()
        return _FUNCTION_GRADIENTS[self.function](gradient, output, *inputs, **options)


_FUNCTION_GRADIENTS: dict[Any, Callable[..., np.ndarray]] = {
    attention.sequence_mask: lambda gradient, output, X, valid_len, value=0: attention.sequence_mask(gradient, valid_len),
    attention.masked_softmax: lambda gradient, output, *inputs, **masks: softmax_backward(output, gradient),
    attention.transpose_qkv: lambda gradient, output, X, heads: attention.transpose_output(gradient, heads),
    attention.transpose_output: lambda gradient, output, X, num_heads: attention.transpose_qkv(gradient, num_heads).reshape(
        X.shape
    ),
}


def _gradients(layer: Layer) -> dict[str, np.ndarray]:
    parameters = weights.named_parameters(layer)
    gradients = [parameter.holder.gradient for parameter in parameters.values()]
    pairs = zip(parameters.values(), gradients, strict=True)
    return by_name(parameters, [np.zeros_like(p.value) if gradient is None else gradient for p, gradient in pairs])
