"""Subjects written in MXNet: gluon blocks on its NumPy interface, and functions of its arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import mxnet
import numpy as np
from mxnet import autograd, gluon, npx

from ..optimizers import Optimizer
from .adapter import Adapter, Call, Gradients, Mask, Tap


class Gluon(Adapter):
    """A block. Its own hooks can change nothing, so the tap stands around each block's ``forward``."""

    calls = "forward"

    @staticmethod
    def version() -> str:
        return str(mxnet.__version__)

    def build(self, first: Callable[[], Call]) -> Any:
        npx.set_np()
        name, _, number = self.subject.settings.get("device", "cpu").partition(":")
        self.place = mxnet.context.Context(name.replace("cuda", "gpu"), int(number or 0))
        mxnet.random.seed(0)
        built = self.made()
        self.block = built if isinstance(built, gluon.Block) else None
        self.built = built
        if self.block is not None:
            self.block.initialize(mxnet.init.Uniform(0.1), ctx=self.place)
            dtype, self.dtype = self.dtype, "float32"  # random numbers are made in no other
            self.call(first())  # some sizes are known then alone
            self.dtype = dtype
            self.block.cast(self.dtype)
            if self.is_compiled:
                self.block.hybridize()
        return built

    @property
    def tensors(self) -> dict[str, Any]:
        named = {} if self.block is None else self.block._collect_params_with_prefix()
        once = {id(one): name for name, one in reversed(named.items())}
        return {name: one for name, one in named.items() if once[id(one)] == name and one.dtype in self._floats()}

    @staticmethod
    def _floats() -> tuple[Any, ...]:
        return (np.float64, np.float32, np.float16, "float64", "float32", "float16")

    def weights(self) -> dict[str, np.ndarray]:
        return {name: one.data(self.place).asnumpy() for name, one in self.tensors.items()}

    def set_weights(self, arrays: dict[str, np.ndarray]) -> None:
        tensors = self.tensors
        for name, value in arrays.items():
            tensors[name].set_data(self.array(value))

    def modules(self) -> list[str]:
        return ["", *(path for path, _ in _inside(self.block))] if self.block is not None and not self.is_compiled else [""]

    def array(self, value: np.ndarray) -> Any:
        dtype = self.dtype if value.dtype.kind == "f" else value.dtype
        return mxnet.np.array(value, dtype=dtype, ctx=self.place)

    def numpy(self, value: Any) -> np.ndarray | None:
        return value.asnumpy() if isinstance(value, mxnet.np.ndarray) else None

    def is_float(self, value: Any) -> bool:
        return isinstance(value, mxnet.np.ndarray) and np.dtype(value.dtype).kind == "f"

    def dtype_of(self, value: Any) -> str:
        return str(np.dtype(value.dtype))

    def call(self, call: Call, tap: Tap | None = None) -> Any:
        keywords = {name: value for name, value in call.keywords.items() if value is not None}
        with ExitStack() as stack:
            if tap is not None and self.block is not None:
                stack.enter_context(_tapped(self.block, tap))
            if self.subject.settings.get("training"):
                stack.enter_context(autograd.train_mode())
            return self.entry(self.built)(*call.arguments, **keywords)

    @contextmanager
    def dropping(self, mask: Mask) -> Iterator[None]:
        """Stand in for the operator that blocks drop by."""

        def dropout(data: Any, p: float = 0.5, mode: str = "training", axes: Any = (), **more: Any) -> Any:
            if p == 0.0 or not (autograd.is_training() or mode == "always"):
                return data
            shape = [1 if axis in axes else size for axis, size in enumerate(data.shape)]
            return data * self.array(mask(shape, p).astype(np.float64)) / (1.0 - p)

        with ExitStack() as stack:
            for module in (npx, mxnet.ndarray.numpy_extension):
                stack.enter_context(mock.patch.object(module, "dropout", dropout))
            yield

    def steps(self, optimizer: Optimizer, gradients: Sequence[dict[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
        weights = {name: self.array(self.tensors[name].data(self.place).asnumpy()) for name in gradients[0]}
        update = mxnet.optimizer.get_updater(optimizer.made(OPTIMIZERS))
        for step in gradients:
            for number, (name, weight) in enumerate(weights.items()):
                update(number, self.array(step[name]), weight)
            yield {name: weight.asnumpy() for name, weight in weights.items()}

    def differentiate(
        self,
        function: Callable[[list[Any]], list[Any]],
        leaves: list[Any],
        cotangents: Callable[[list[Any]], list[Any]],
    ) -> Gradients:
        trained = {name: one for name, one in self.tensors.items() if one.grad_req != "null"}
        leaves = [leaf.copy() for leaf in leaves]
        for leaf in leaves:
            leaf.attach_grad()
        for one in trained.values():
            one.grad(self.place)[:] = 0.0  # its own method is for MXNet's older arrays
        with autograd.record(train_mode=bool(self.subject.settings.get("training"))):
            outputs = function(leaves)
            # An output that nothing recorded leads to is refused as a head.
            heads = [output + 0.0 * sum(leaf.sum() for leaf in leaves) if leaves else output for output in outputs]
        autograd.backward(heads, cotangents(outputs), train_mode=bool(self.subject.settings.get("training")))
        return Gradients(outputs, [leaf.grad for leaf in leaves], {n: one.grad(self.place) for n, one in trained.items()})


def _inside(block: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, child in block._children.items():
        inner = f"{path}.{name}".lstrip(".")
        yield inner, child
        yield from _inside(child, inner)


@contextmanager
def _tapped(block: Any, tap: Tap) -> Iterator[None]:
    def wrapped(path: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def forward(*arguments: Any, **keywords: Any) -> Any:
            given, named = tap.enter(path, arguments, keywords)
            return tap.leave(path, original(*given, **named))

        return forward

    children = dict(_inside(block))
    for path, child in children.items():
        object.__setattr__(child, "forward", wrapped(path, child.forward))
    try:
        yield
    finally:
        for child in children.values():
            object.__delattr__(child, "forward")


OPTIMIZERS = {
    "sgd": lambda o: mxnet.optimizer.SGD(o["momentum"], learning_rate=o["learning_rate"]),
    "adam": lambda o: mxnet.optimizer.Adam(o["learning_rate"], o["beta1"], o["beta2"], o["epsilon"]),
}
ADAPTER = Gluon
