"""NumPy in, NumPy out, on TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from transformer_mb.config import TransformerConfig
from transformer_mb.native_backend import TapedBackend
from transformer_mb.native_parameters import by_name

from . import model, weights
from .trainer import TensorFlowTrainer


class TensorFlowBackend(TapedBackend, package=__package__):
    name = "tensorflow"
    dtypes = ("float32", "float64", "bfloat16", "float16")
    own_types = (tf.DType,)
    trainer_class = TensorFlowTrainer

    @classmethod
    def version(cls) -> str:
        return tf.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu", *(f"gpu:{i}" for i in range(len(tf.config.list_physical_devices("GPU"))))]

    @classmethod
    def is_built_for_gpus(cls) -> bool:
        return tf.test.is_built_with_gpu_support()

    def find_device(self, device: str | None) -> str:
        """TensorFlow knows a device by its name."""
        first_gpu = "gpu:0" if device or "gpu:0" in self.devices() else "cpu"
        name = self.check_device(first_gpu if device in (None, "gpu", "cuda") else device, device)
        if name != "cpu":
            # TF32 would be the default for float32; the switch is the whole process's.
            tf.config.experimental.enable_tensor_float_32_execution(False)
        return name

    def make(self, constructor: Callable[..., Any], *arguments: Any, **options: Any) -> keras.layers.Layer:
        with tf.device(self.device):
            return constructor(*arguments, **{"dtype": self.dtype, **options})

    def create_empty(self, config: TransformerConfig) -> keras.Model:
        with tf.device(self.device):
            return model.EncoderDecoder.from_config(config, dtype=self.dtype)

    def _tensor(self, leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        with tf.device(self.device):
            return tf.cast(leaf, self.dtype) if leaf.dtype.kind == "f" else tf.constant(leaf)

    def _numpy(self, leaf: Any) -> Any:
        return weights.Parameter.to_numpy(leaf) if isinstance(leaf, tf.Tensor | tf.IndexedSlices) else leaf

    def _running(self, layer: Any, training: bool = False) -> AbstractContextManager[Any]:
        return tf.device(self.device)

    def _call(self, layer: Any, inputs: Any, options: Mapping[str, Any], training: bool) -> Any:
        # Keras takes ``training`` for any layer, and hands it on; plain functions have none.
        mode = {"training": training} if isinstance(layer, keras.layers.Layer) else {}
        return layer(*inputs, **options, **mode)

    @staticmethod
    def _forwards(
        layer: Any, compute: Callable[..., tf.Tensor], where: Sequence[tf.Tensor], direction: Sequence[tf.Tensor]
    ) -> tf.Tensor:
        with tf.autodiff.ForwardAccumulator(list(where), list(direction)) as accumulator:
            output = compute(layer, *where)
        return accumulator.jvp(output)

    @staticmethod
    def _is_float(leaf: Any) -> bool:
        return isinstance(leaf, tf.Tensor) and leaf.dtype.is_floating

    def _taped(
        self, layer: Any, compute: Callable[[], Any], watched: Sequence[Any], cotangent: Any, training: bool
    ) -> tuple[Any, Sequence[Any], dict[str, np.ndarray]]:
        parameters = weights.named_variables(layer)
        with tf.device(self.device), tf.GradientTape() as tape:
            tape.watch(watched)
            output = compute()
        tensors = [*watched, *(parameter.value for parameter in parameters.values())]
        cotangent = None if cotangent is None else tf.cast(cotangent, output.dtype)
        gradients = tape.gradient(output, tensors, cotangent, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return output, gradients[: len(watched)], by_name(parameters, gradients[len(watched) :])
