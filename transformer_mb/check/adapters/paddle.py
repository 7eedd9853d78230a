"""Subjects written in PaddlePaddle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast
from unittest import mock

import numpy as np
import paddle

from ..optimizers import Optimizer
from .adapter import Adapter, Call, Gradients, Mask, Tap


class Paddle(Adapter):
    """A layer, whose hooks are the tap; or a function of tensors."""

    calls = "forward"

    @staticmethod
    def version() -> str:
        return str(paddle.__version__)

    def build(self, first: Callable[[], Call]) -> Any:
        self.format = cast(Any, self.dtype)  # a name, which Paddle's types list one by one
        paddle.set_device(self.subject.settings.get("device", "cpu").replace("cuda", "gpu"))
        with self._defaults():
            paddle.seed(0)
            built = self.made()
            self.layer = built if isinstance(built, paddle.nn.Layer) else None
            if self.layer is not None:
                self.layer.to(dtype=self.format)
                self.layer.train() if self.subject.settings.get("training") else self.layer.eval()
        self.tensors = self._tensors()
        self.compiled = paddle.jit.to_static(self.entry(built)) if self.is_compiled else None
        return built

    @contextmanager
    def _defaults(self) -> Iterator[None]:
        """Let tensors that the code itself makes have the dtype too."""
        before = paddle.get_default_dtype()
        paddle.set_default_dtype(self.format)
        try:
            yield
        finally:
            paddle.set_default_dtype(before)

    def _tensors(self) -> dict[str, Any]:
        named = {} if self.layer is None else dict(self.layer.state_dict())
        once = {id(tensor): name for name, tensor in reversed(named.items())}
        return {name: tensor for name, tensor in named.items() if once[id(tensor)] == name and tensor.is_floating_point()}

    def weights(self) -> dict[str, np.ndarray]:
        return {name: _numpy(tensor) for name, tensor in self.tensors.items()}

    def set_weights(self, arrays: dict[str, np.ndarray]) -> None:
        with paddle.no_grad():
            for name, value in arrays.items():
                self.tensors[name].set_value(value.astype(self.dtype))

    def modules(self) -> list[str]:
        if self.layer is None or self.compiled is not None:
            return [""]
        return ["", *(name for name, _ in self.layer.named_sublayers())]

    def array(self, value: np.ndarray) -> Any:
        return paddle.to_tensor(value, dtype=self.format if value.dtype.kind == "f" else None)

    def numpy(self, value: Any) -> np.ndarray | None:
        return _numpy(value) if isinstance(value, paddle.Tensor) else None

    def is_float(self, value: Any) -> bool:
        return isinstance(value, paddle.Tensor) and bool(value.is_floating_point())

    def dtype_of(self, value: Any) -> str:
        return str(value.dtype).rpartition(".")[2].lower()

    def call(self, call: Call, tap: Tap | None = None) -> Any:
        with self._defaults():
            if self.layer is None or tap is None:
                run = self.compiled if self.compiled is not None else self.entry(self.built)
                return run(*call.arguments, **call.keywords)
            handles = [handle for path, layer in self.layer.named_sublayers() for handle in _hooked(path, layer, tap)]
            try:
                return self.entry(self.layer)(*call.arguments, **call.keywords)
            finally:
                for handle in handles:
                    handle.remove()

    @contextmanager
    def dropping(self, mask: Mask) -> Iterator[None]:
        """Stand in for the function that layers and other people's code drop by."""

        def dropout(x: Any, p: float = 0.5, axis: Any = None, training: bool = True, mode: str = "", **more: Any) -> Any:
            if not training or p == 0.0:
                return x
            return x * self.array(mask(x.shape, p).astype(np.float64)) / (1.0 if mode == "downscale_in_infer" else 1.0 - p)

        with mock.patch.object(paddle.nn.functional, "dropout", dropout):
            yield

    def steps(self, optimizer: Optimizer, gradients: Sequence[dict[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
        parameters = {name: self._parameter(self.tensors[name].numpy()) for name in gradients[0]}
        own = optimizer.made(OPTIMIZERS, list(parameters.values()))
        for step in gradients:
            for name, parameter in parameters.items():
                parameter.grad = self.array(step[name])
            own.step()
            yield {name: _numpy(parameter) for name, parameter in parameters.items()}

    def _parameter(self, value: np.ndarray) -> Any:
        parameter = paddle.create_parameter(list(value.shape), self.format)
        parameter.set_value(value)
        return parameter

    def differentiate(
        self,
        function: Callable[[list[Any]], list[Any]],
        leaves: list[Any],
        cotangents: Callable[[list[Any]], list[Any]],
    ) -> Gradients:
        trained = {name: tensor for name, tensor in self.tensors.items() if not tensor.stop_gradient}
        leaves = [leaf.detach().clone() for leaf in leaves]
        for leaf in leaves:
            leaf.stop_gradient = False
        # A leaf that is an output too gets no gradient of itself.
        outputs = [one.clone() if any(one is leaf for leaf in leaves) else one for one in function(leaves)]
        pairs = [(output, one) for output, one in zip(outputs, cotangents(outputs), strict=True) if not output.stop_gradient]
        wanted = [*leaves, *trained.values()]
        found: list[Any] = [None] * len(wanted)
        if pairs:
            heads, seeds = map(list, zip(*pairs, strict=True))
            found = paddle.grad(heads, wanted, seeds, allow_unused=True)
        return Gradients(outputs, found[: len(leaves)], dict(zip(trained, found[len(leaves) :], strict=True)))


def _numpy(tensor: Any) -> np.ndarray:
    if tensor.dtype in (paddle.bfloat16, paddle.float16):
        tensor = tensor.astype("float32")
    return np.array(tensor.detach().numpy())


def _hooked(path: str, layer: Any, tap: Tap) -> Iterator[Any]:
    def entered(_: Any, arguments: Any, keywords: Any) -> Any:
        return tap.enter(path, arguments, keywords)

    yield layer.register_forward_pre_hook(entered, with_kwargs=True)
    yield layer.register_forward_post_hook(lambda _, arguments, output: tap.leave(path, output))


OPTIMIZERS = {
    "sgd": lambda weights, o: paddle.optimizer.Momentum(o["learning_rate"], o["momentum"], weights),
    "adam": lambda weights, o: paddle.optimizer.Adam(o["learning_rate"], o["beta1"], o["beta2"], o["epsilon"], weights),
    "adamw": lambda weights, o: paddle.optimizer.AdamW(
        o["learning_rate"], o["beta1"], o["beta2"], o["epsilon"], weights, o["weight_decay"]
    ),
}
ADAPTER = Paddle
