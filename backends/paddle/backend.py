"""NumPy in, NumPy out, on Paddle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import paddle
from paddle import Tensor, nn

from transformer_mb.config import TransformerConfig
from transformer_mb.native_backend import TapedBackend, in_mode
from transformer_mb.native_parameters import by_name

from . import model, weights
from .trainer import PaddleTrainer


class PaddleBackend(TapedBackend, package=__package__):
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

    @staticmethod
    def _is_float(leaf: Any) -> bool:
        return isinstance(leaf, Tensor) and leaf.is_floating_point()

    def _taped(
        self, layer: Any, compute: Callable[[], Any], watched: Sequence[Any], cotangent: Any, training: bool
    ) -> tuple[Any, Sequence[Any], dict[str, np.ndarray]]:
        for leaf in watched:
            leaf.stop_gradient = False
        parameters = weights.named_parameters(layer)
        with self._mode(layer, training):
            output = compute()
            tensors = [*watched, *(parameter.value for parameter in parameters.values())]
            gradients = weights.gradients(output, tensors, cotangent)
        return output, gradients[: len(watched)], by_name(parameters, gradients[len(watched) :])

    @contextmanager
    def _mode(self, layer: Any, training: bool) -> Iterator[None]:
        with paddle.device.device_guard(self.device), in_mode(layer, training, _parts_in, _set_mode):
            yield


def _parts_in(layer: nn.Layer, training: bool) -> list[nn.Layer]:
    return [part for part in layer.sublayers() if part.training == training]


def _set_mode(layer: nn.Layer, training: bool) -> None:
    (layer.train if training else layer.eval)()
