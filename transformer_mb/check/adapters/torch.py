"""Subjects written in PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch.nn import functional

from ..eight_bits import INT8
from ..optimizers import Optimizer
from ..subjects import Subject
from .adapter import Adapter, Call, Gradients, Mask, Tap


class Torch(Adapter):
    """A module, whose hooks are the tap; or a function of tensors."""

    dtypes = ("float64", "float32", "bfloat16", "float16")
    calls = "forward"

    @staticmethod
    def version() -> str:
        return str(torch.__version__)

    @classmethod
    def offered(cls, subject: Subject) -> tuple[str, ...]:
        return (*cls.dtypes, INT8) if subject.settings.get("dtype") == INT8 else cls.dtypes

    def build(self, first: Callable[[], Call]) -> Any:
        self.differentiates = self.dtype != INT8
        self.format = torch.float32 if self.dtype == INT8 else getattr(torch, self.dtype)
        self.place = torch.device(self.subject.settings.get("device", "cpu"))
        torch.set_grad_enabled(False)
        with self._defaults():
            torch.manual_seed(0)
            built = self.made()
            self.module = built if isinstance(built, torch.nn.Module) else None
            if self.module is not None:
                self.module.to(device=self.place, dtype=self.format).train(bool(self.subject.settings.get("training")))
        self.tensors = self._tensors()
        self.compiled = torch.compile(self.entry(built)) if self.is_compiled else None
        self.quantized: Any = None
        return built

    @contextmanager
    def _defaults(self) -> Iterator[None]:
        """Let tensors that the code itself makes have the dtype too."""
        before = torch.get_default_dtype()
        torch.set_default_dtype(self.format)
        try:
            yield
        finally:
            torch.set_default_dtype(before)

    def _tensors(self) -> dict[str, torch.Tensor]:
        named = {} if self.module is None else self.module.state_dict(keep_vars=True)
        once = {id(tensor): name for name, tensor in reversed(named.items()) if torch.is_tensor(tensor)}
        return {name: tensor for name, tensor in named.items() if once.get(id(tensor)) == name and tensor.is_floating_point()}

    def weights(self) -> dict[str, np.ndarray]:
        return {name: _numpy(tensor) for name, tensor in self.tensors.items()}

    def set_weights(self, arrays: dict[str, np.ndarray]) -> None:
        for name, value in arrays.items():
            self.tensors[name].data.copy_(torch.from_numpy(np.ascontiguousarray(value)))
        self.quantized = None

    def modules(self) -> list[str]:
        if self.module is None or self.compiled is not None:
            return [""]
        return [name for name, _ in self.module.named_modules()]

    def array(self, value: np.ndarray) -> Any:
        tensor = torch.from_numpy(np.ascontiguousarray(value).reshape(value.shape)).to(self.place)
        return tensor.to(self.format) if tensor.is_floating_point() else tensor

    def numpy(self, value: Any) -> np.ndarray | None:
        return _numpy(value) if torch.is_tensor(value) else None

    def is_float(self, value: Any) -> bool:
        return torch.is_tensor(value) and value.is_floating_point()

    def dtype_of(self, value: Any) -> str:
        return str(value.dtype).removeprefix("torch.")

    def call(self, call: Call, tap: Tap | None = None) -> Any:
        with self._defaults():
            built = self._in_eight_bits() if self.dtype == INT8 else self.built
            if self.module is None or tap is None:
                run = self.compiled if self.compiled is not None else self.entry(built)
                return run(*call.arguments, **call.keywords)
            handles = [handle for path, module in built.named_modules() if path for handle in _hooked(path, module, tap)]
            try:
                return self.entry(built)(*call.arguments, **call.keywords)
            finally:
                for handle in handles:
                    handle.remove()

    def _in_eight_bits(self) -> Any:
        """Return the module with its linear layers quantised anew, once for the weights that it has."""
        if self.quantized is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it will move to a package of its own
                self.quantized = torch.ao.quantization.quantize_dynamic(self.module, {torch.nn.Linear}, torch.qint8)
        return self.quantized

    @contextmanager
    def dropping(self, mask: Mask) -> Iterator[None]:
        """Stand in for the functions that modules and other people's code drop by; attention is then composed."""

        def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
            if not training or p == 0.0:
                return input
            return input * self.array(mask(input.shape, p).astype(np.float64)) / (1.0 - p)

        own = functional.scaled_dot_product_attention

        def attention(
            query: Any,
            key: Any,
            value: Any,
            attn_mask: Any = None,
            dropout_p: float = 0.0,
            is_causal: bool = False,
            **how: Any,
        ) -> Any:
            if dropout_p == 0.0:
                return own(query, key, value, attn_mask=attn_mask, is_causal=is_causal, **how)
            scores = query @ key.transpose(-2, -1) * (how.get("scale") or query.shape[-1] ** -0.5)
            if is_causal:
                attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=self.place).tril()
            if attn_mask is not None:
                scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
            return dropout(scores.softmax(-1), dropout_p) @ value

        with (
            mock.patch.object(functional, "dropout", dropout),
            mock.patch.object(functional, "scaled_dot_product_attention", attention),
        ):
            yield

    def steps(self, optimizer: Optimizer, gradients: Sequence[dict[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
        parameters = {name: torch.nn.Parameter(self.tensors[name].detach().clone()) for name in gradients[0]}
        own = optimizer.made(OPTIMIZERS, list(parameters.values()))
        for step in gradients:
            for name, parameter in parameters.items():
                parameter.grad = self.array(step[name])
            own.step()
            yield {name: _numpy(parameter) for name, parameter in parameters.items()}

    def differentiate(
        self,
        function: Callable[[list[Any]], list[Any]],
        leaves: list[Any],
        cotangents: Callable[[list[Any]], list[Any]],
    ) -> Gradients:
        trained = {name: tensor for name, tensor in self.tensors.items() if isinstance(tensor, torch.nn.Parameter)}
        with torch.enable_grad():
            leaves = [leaf.detach().clone().requires_grad_() for leaf in leaves]
            outputs = function(leaves)
            pairs = [(output, one) for output, one in zip(outputs, cotangents(outputs), strict=True) if output.requires_grad]
            wanted = [*leaves, *trained.values()]
            found: list[Any] = [None] * len(wanted)
            if pairs:
                heads, seeds = zip(*pairs, strict=True)
                found = list(torch.autograd.grad(heads, wanted, seeds, allow_unused=True))
        return Gradients(outputs, found[: len(leaves)], dict(zip(trained, found[len(leaves) :], strict=True)))


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach().cpu()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    return np.array(tensor.numpy())


def _hooked(path: str, module: torch.nn.Module, tap: Tap) -> Iterator[Any]:
    yield module.register_forward_pre_hook(
        lambda _, arguments, keywords: tap.enter(path, arguments, keywords), with_kwargs=True
    )
    yield module.register_forward_hook(lambda _, arguments, output: tap.leave(path, output))


OPTIMIZERS = {
    "sgd": lambda weights, o: torch.optim.SGD(weights, o["learning_rate"], o["momentum"]),
    "adam": lambda weights, o: torch.optim.Adam(weights, o["learning_rate"], (o["beta1"], o["beta2"]), o["epsilon"]),
    "adamw": lambda weights, o: torch.optim.AdamW(
        weights, o["learning_rate"], (o["beta1"], o["beta2"]), o["epsilon"], o["weight_decay"]
    ),
}
ADAPTER = Torch
