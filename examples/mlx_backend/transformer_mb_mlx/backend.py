"""NumPy in, NumPy out, on MLX."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import mlx.core as mx
import numpy

from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.divergences import Divergence
from transformer_mb.native_backend import NativeBackend, in_mode
from transformer_mb.native_parameters import by_name
from transformer_mb.trees import leaves, map_leaves

from . import model
from .dropout import injected_dropout
from .framework import Module, differentiated, in_place_of, is_float
from .trainer import MLXTrainer
from .weights import named_parameters

WHY = "on a processor MLX adds float32 one after the other: its sum of 4,096 numbers is 23 times as far off as NumPy's; {}"
LINK = "https://github.com/ml-explore/mlx/blob/main/mlx/backend/cpu/reduce.cpp"
# By cell: what is farther from float64 than float32 explains by NumPy's own error in it.
FARTHER_OFF = {
    "model gradients: real size [float32]": (WHY.format("3.9e-4 in one element of decoder.dense.weight, limit 2.5e-4"), LINK),
    "stepwise update: step 0 [float32]": (WHY.format("8.2e-5 in one element, 7.2 times NumPy's own, limit 4 times"), LINK),
}


class MLXBackend(NativeBackend, package=__package__):
    name = "mlx"
    dtypes = ("float32",)
    divergences = tuple(Divergence(case, "not yet theirs", *why) for case, why in FARTHER_OFF.items())
    trainer_class = MLXTrainer

    @classmethod
    def version(cls) -> str:
        return version("mlx")

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu"]

    @classmethod
    def is_built_for_gpus(cls) -> bool:
        return False

    def find_device(self, device: str | None) -> str:
        return self.check_device(device or "cpu", device)

    def make(self, constructor: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        return self._place(constructor(*arguments, **options))

    def create_empty(self, config: TransformerConfig) -> Any:
        return self._place(model.EncoderDecoder.from_config(config))

    def _place(self, module: Module) -> Module:
        for parameter in module.named_parameters().values():
            parameter.value = parameter.value.astype(getattr(mx, self.dtype))
        return module

    def _tensor(self, leaf: Any) -> Any:
        # Whole numbers and masks stay NumPy's: what is computed with them is computed there.
        is_tensor = isinstance(leaf, numpy.ndarray) and leaf.dtype.kind == "f"
        return mx.array(leaf, getattr(mx, self.dtype)) if is_tensor else leaf

    def _numpy(self, leaf: Any) -> Any:
        return numpy.array(leaf) if isinstance(leaf, mx.array | numpy.ndarray) else leaf

    @contextmanager
    def _running(self, layer: Any, training: bool = False) -> Iterator[None]:
        with in_mode(layer, training, _parts_in, Module.train):
            yield

    def _differentiate(
        self, layer: Any, inputs: list[Any], options: dict[str, Any], cotangent: Any, training: bool
    ) -> tuple[Any, dict[int, Any], dict[str, numpy.ndarray]]:
        watched = [leaf for leaf in leaves(inputs) if is_float(leaf)]
        parameters = named_parameters(layer)
        holders = [parameter.holder for parameter in parameters.values()]

        def compute(values: list[Any]) -> Any:
            traced = {id(leaf): value for leaf, value in zip(watched, values, strict=False)}
            given = map_leaves(lambda leaf: traced.get(id(leaf), leaf), inputs)
            with in_place_of(holders, values[len(watched) :]):
                output = layer(*given, **options)
            return output[0] if isinstance(output, tuple) else output

        with self._running(layer, training):
            arrays = [*watched, *(holder.value for holder in holders)]
            output, gradients = differentiated(compute, arrays, cotangent)
        by_leaf = {id(leaf): gradient for leaf, gradient in zip(watched, gradients, strict=False)}
        return output, by_leaf, by_name(parameters, gradients[len(watched) :])

    def run_loss_and_gradients(
        self, model: Any, batch: Batch, loss: Any, dropout_masks: Mapping[str, numpy.ndarray] | None
    ) -> tuple[float, dict[str, numpy.ndarray]]:
        source, valid_lens, target_in, target_out, target_valid_lens = batch
        parameters = named_parameters(model)
        holders = [parameter.holder for parameter in parameters.values()]

        def compute(values: list[Any]) -> Any:
            with in_place_of(holders, values):
                logits, _ = model(source, target_in, valid_lens)
            return mx.sum(loss(logits, target_out, target_valid_lens))

        with self._running(model, dropout_masks is not None), injected_dropout(model, dropout_masks):
            one = mx.array(1.0, getattr(mx, self.dtype))
            total, gradients = differentiated(compute, [holder.value for holder in holders], one)
        return float(total), by_name(parameters, gradients)


def _parts_in(layer: Module, training: bool) -> list[Module]:
    return [module for _, module in layer.named_modules() if module.training == training]
