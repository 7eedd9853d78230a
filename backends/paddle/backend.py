"""NumPy in, NumPy out, on Paddle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import paddle
from paddle import Tensor, nn

from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.native_backend import NativeBackend
from transformer_mb.native_parameters import by_name
from transformer_mb.trees import leaves

from . import model, weights
from .dropout import injected_dropout
from .trainer import PaddleTrainer


class PaddleBackend(NativeBackend, package=__package__):
    name = "paddle"
    # Paddle's CPU kernels for bfloat16 and float16 lack matmul, softmax and layer_norm among others.
    dtypes = ("float32", "float64")
    own_types = (paddle.dtype, paddle.CPUPlace, paddle.CUDAPlace)
    trainer_class = PaddleTrainer

    @classmethod
    def version(cls) -> str:
        return paddle.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu", *(f"gpu:{i}" for i in range(paddle.device.cuda.device_count()))]

    @classmethod
    def is_built_for_gpus(cls) -> bool:
        return paddle.is_compiled_with_cuda()

    def find_device(self, device: str | None) -> Any:
        name = self.check_device("gpu:0" if device == "gpu" else device or paddle.get_device(), device)
        if name == "cpu":
            return paddle.CPUPlace()
        paddle.base.core.set_cublas_switch(False)  # TF32 would be the default for float32; the switch is the whole process's
        return paddle.CUDAPlace(int(name.removeprefix("gpu:")))

    @property
    def device_name(self) -> str:
        return str(self.device).removeprefix("Place(").removesuffix(")")

    def make(self, constructor: Callable[..., Any], *arguments: Any, **options: Any) -> nn.Layer:
        with self._creation():
            return constructor(*arguments, **options)

    def create_empty(self, config: TransformerConfig) -> nn.Layer:
        with self._creation():
            return model.EncoderDecoder.from_config(config)

    @contextmanager
    def _creation(self) -> Iterator[None]:
        """Paddle makes parameters in the process's default dtype, which is afterwards what it was."""
        before = paddle.get_default_dtype()
        paddle.set_default_dtype(cast(Any, self.dtype))
        try:
            with paddle.device.device_guard(self.device):
                yield
        finally:
            paddle.set_default_dtype(before)

    def _tensor(self, leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        return paddle.to_tensor(leaf, cast(Any, self.dtype) if leaf.dtype.kind == "f" else None, self.device)

    def _numpy(self, leaf: Any) -> Any:
        return weights.Parameter.to_numpy(leaf) if isinstance(leaf, Tensor) else leaf

    @contextmanager
    def _running(self, layer: Any, training: bool = False) -> Iterator[None]:
        with paddle.no_grad(), self._mode(layer, training):
            yield

    def _differentiate(
        self, layer: Any, inputs: list[Any], options: dict[str, Any], cotangent: Any, training: bool
    ) -> tuple[Any, dict[int, Any], dict[str, np.ndarray]]:
        watched = [leaf for leaf in leaves(inputs) if isinstance(leaf, Tensor) and leaf.is_floating_point()]
        for leaf in watched:
            leaf.stop_gradient = False
        parameters = weights.named_parameters(layer)
        with self._mode(layer, training):
            output = layer(*inputs, **options)
            output = output[0] if isinstance(output, tuple) else output
            tensors = [*watched, *(parameter.value for parameter in parameters.values())]
            gradients = weights.gradients(output, tensors, cotangent)
        by_leaf = {id(leaf): gradient for leaf, gradient in zip(watched, gradients, strict=False)}
        return output, by_leaf, by_name(parameters, gradients[len(watched) :])

    def run_loss_and_gradients(
        self, model: model.EncoderDecoder, batch: Batch, loss: Any, dropout_masks: Mapping[str, np.ndarray] | None
    ) -> tuple[float, dict[str, np.ndarray]]:
        source, valid_lens, target_in, target_out, target_valid_lens = map(self._tensor, batch)
        parameters = weights.named_parameters(model)
        with self._mode(model, dropout_masks is not None), injected_dropout(model, dropout_masks):
            logits, _ = model(source, target_in, valid_lens)
            total = loss(logits, target_out, target_valid_lens).sum()
            gradients = weights.gradients(total, [parameter.value for parameter in parameters.values()])
        return total.item(), by_name(parameters, gradients)

    @contextmanager
    def _mode(self, layer: Any, training: bool) -> Iterator[None]:
        """On this device, and in training or evaluation mode; afterwards each part in its own. Plain functions have no mode."""
        with paddle.device.device_guard(self.device):
            before = getattr(layer, "training", training)
            if before == training:
                yield
                return
            others = [part for part in layer.sublayers() if part.training == training]
            (layer.train if training else layer.eval)()
            try:
                yield
            finally:
                (layer.train if before else layer.eval)()
                for part in others:
                    part.training = training
