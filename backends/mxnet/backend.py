"""NumPy in, NumPy out, on MXNet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet import np as mnp

from transformer_mb.config import TransformerConfig
from transformer_mb.native_backend import TapedBackend
from transformer_mb.native_parameters import by_name

from . import model, weights
from .shortcuts.threads import suit
from .trainer import MXNetTrainer


class MXNetBackend(TapedBackend, package=__package__):
    name = "mxnet"
    # float16 products fail on the CPU, asynchronously; bfloat16 arrays cannot be made from or read as NumPy's.
    dtypes = ("float32", "float64")
    own_types = (mx.Context,)
    trainer_class = MXNetTrainer

    @classmethod
    def version(cls) -> str:
        return mx.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu", *(f"gpu:{i}" for i in range(mx.context.num_gpus()))]

    @classmethod
    def is_built_for_gpus(cls) -> bool:
        return mx.runtime.Features().is_enabled("CUDA")

    def find_device(self, device: str | None) -> mx.Context:
        name = self.check_device("gpu:0" if device == "gpu" else device or "cpu", device)
        kind, _, number = name.partition(":")
        return mx.Context(kind, int(number or 0))

    @property
    def device_name(self) -> str:
        kind = self.device.device_type
        return kind if kind == "cpu" else f"{kind}:{self.device.device_id}"

    def make(self, constructor: Callable[..., Any], *arguments: Any, **options: Any) -> gluon.Block:
        return self._place(constructor(*arguments, **options))

    def create_empty(self, config: TransformerConfig) -> gluon.Block:
        return self._place(model.EncoderDecoder.from_config(config))

    def _place(self, block: gluon.Block) -> gluon.Block:
        # The default initialisers know only float32.
        block.initialize(ctx=self.device)
        block.cast(self.dtype)
        return block

    def _tensor(self, leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        # MXNet has few dtypes of whole numbers.
        dtypes = {"f": self.dtype, "i": "int64", "u": "int64"}
        return weights.to_device(leaf.astype(dtypes.get(leaf.dtype.kind, leaf.dtype.name)), self.device)

    def _numpy(self, leaf: Any) -> Any:
        return leaf.asnumpy() if isinstance(leaf, mnp.ndarray) else leaf

    def _evaluate(self, function: Callable[..., Any], model: gluon.Block, *arrays: np.ndarray | None) -> Any:
        suit(self.device, max(array.size for array in arrays if array is not None), model.config.num_hiddens)
        return super()._evaluate(function, model, *arrays)

    def _running(self, layer: Any, training: bool = False) -> AbstractContextManager[Any]:
        return autograd.pause(train_mode=training)

    @staticmethod
    def _is_float(leaf: Any) -> bool:
        return isinstance(leaf, mnp.ndarray) and np.dtype(leaf.dtype).kind == "f"

    def _taped(
        self, layer: Any, compute: Callable[[], Any], watched: Sequence[Any], cotangent: Any, training: bool
    ) -> tuple[Any, Sequence[Any], dict[str, np.ndarray]]:
        for leaf in watched:
            leaf.attach_grad()
        parameters = weights.named_parameters(layer)
        with _differentiable(parameters):
            with autograd.record(training):
                output = compute()
            output.backward(cotangent)
            gradients = [parameter.holder.grad() for parameter in parameters.values()]
            return output, [leaf.grad for leaf in watched], by_name(parameters, gradients)


@contextmanager
def _differentiable(parameters: Mapping[str, weights.Parameter]) -> Iterator[None]:
    """Inside, all parameters have gradients, all zero until a backward comes to them; also those that are frozen."""
    holders = [parameter.holder for parameter in parameters.values()]
    frozen = [holder for holder in holders if holder.grad_req == "null"]
    for holder in frozen:
        holder.grad_req = "write"
    try:
        with autograd.pause():  # also inside record(), where MXNet refuses to write into arrays
            for holder in holders:
                holder.grad()[:] = 0.0  # zero_grad refuses mxnet.np arrays
        yield
    finally:
        for holder in frozen:
            holder.grad_req = "null"
