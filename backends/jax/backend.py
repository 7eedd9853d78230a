"""NumPy in, NumPy out, on JAX."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, partial
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from transformer_mb.batch import Batch
from transformer_mb.config import TransformerConfig
from transformer_mb.decoding.inputs import DecodingInputs
from transformer_mb.native_backend import NativeBackend
from transformer_mb.native_parameters import by_name
from transformer_mb.trees import map_leaves

from . import model, settings, weights
from .dropout import injected_dropout
from .shortcuts import compilation, compiled
from .trainer import JAXTrainer


class JAXBackend(NativeBackend, package=__package__):
    """A float64 backend sets ``jax_enable_x64`` for the whole process; float32 models work on either way. And the first one
    sets where JAX keeps compiled programs, see ``transformer_mb.machine.compilation_cache``.

    What this backend computes has full float32 precision on a GPU (no TF32); layers called natively follow
    ``jax_default_matmul_precision``.
    """

    name = "jax"
    dtypes = ("float32", "float64", "bfloat16", "float16")
    own_types = (jax.Device,)
    trainer_class = JAXTrainer
    gpu_settings = settings.SETTINGS

    def __init__(self, device: str | None = None, dtype: str = "float32"):
        super().__init__(device, dtype)
        compiled.keep_programs()
        if self.dtype == "float64":
            jax.config.update("jax_enable_x64", True)

    @classmethod
    def version(cls) -> str:
        return jax.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return list(_devices())

    @classmethod
    def is_built_for_gpus(cls) -> bool:
        return any(name.startswith(("jax_cuda", "jax_rocm")) for _, name, _ in pkgutil.iter_modules())

    def find_device(self, device: str | None) -> jax.Device:
        if device is None:
            return jax.local_devices()[0]
        # JAX's own name for NVIDIA's platform is "gpu"; it takes "cuda" too.
        name = device.replace("cuda", "gpu")
        return _devices()[self.check_device(name if name in self.devices() else f"{name}:0", device)]

    @property
    def device_name(self) -> str:
        return next(name for name, device in _devices().items() if device == self.device)

    @property
    def hardware(self) -> str | None:
        return None if self.device.platform == "cpu" else self.device.device_kind

    def make(self, constructor: Callable[..., Any], *arguments: Any, **options: Any) -> nnx.Module:
        # Of a class nnx's metaclass shows no arguments.
        function: Any = getattr(constructor, "__init__") if isinstance(constructor, type) else constructor  # noqa: B009
        if "param_dtype" in inspect.signature(function).parameters:
            options = {"param_dtype": jnp.dtype(self.dtype), **options}
        with jax.default_device(self.device):
            return self._place(*nnx.split(constructor(*arguments, **options)))

    def create_empty(self, config: TransformerConfig) -> nnx.Module:
        return self._place(*_abstract(config, self.dtype))

    def _place(self, graphdef: nnx.GraphDef, state: Any) -> nnx.Module:
        seeds = count()

        def numbers(leaf: Any) -> Any:
            if not isinstance(leaf, jax.ShapeDtypeStruct):
                return leaf
            if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                return np.zeros(leaf.shape, leaf.dtype)
            # What jax.random.key makes of a seed by JAX's own generator, and compiles a program for.
            words: Any = np.zeros(leaf.dtype.itemsize // 4, np.uint32)
            words[-1] = next(seeds)
            return jax.random.wrap_key_data(words)

        return nnx.merge(graphdef, jax.device_put(jax.tree.map(numbers, state), self.device))

    def _tensor(self, leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        dtype = jnp.dtype(self.dtype) if leaf.dtype.kind == "f" else leaf.dtype
        return jax.device_put(np.asarray(leaf, dtype), self.device)

    def _numpy(self, leaf: Any) -> Any:
        return weights.Parameter.to_numpy(leaf) if isinstance(leaf, Array) else leaf

    def _call(self, layer: Any, inputs: Any, options: Mapping[str, Any], training: bool) -> Any:
        return compiled.call(layer, inputs, options, self.device.platform)

    def _evaluate(self, function: Callable[..., Any], model: nnx.Module, *arrays: np.ndarray | None) -> Any:
        tensors = map_leaves(self._tensor, arrays)
        return map_leaves(self._numpy, compiled.evaluate(function, model, self.device.platform, tensors))

    @contextmanager
    def _running(self, layer: Any, training: bool = False) -> Iterator[None]:
        _, owner = compiled.bound(layer)
        within = () if owner is None else weights.named_layers(owner)
        modules = [module for _, module in within if hasattr(module, "deterministic")]
        before = [module.deterministic for module in modules]
        for module in modules:
            module.deterministic = not training
        try:
            yield
        finally:
            for module, mode in zip(modules, before, strict=True):
                module.deterministic = mode

    def _decoding(self, model: nnx.Module) -> AbstractContextManager[None]:
        return nullcontext()  # what decodes is compiled in evaluation mode

    def _native_inputs(self, inputs: DecodingInputs) -> DecodingInputs:
        return inputs  # a compiled function puts them beside the weights, in less time

    @staticmethod
    def _forwards(layer: Any, compute: Callable[..., Array], where: Sequence[Array], direction: Sequence[Array]) -> Array:
        # A layer is made anew inside: what is traced changes none from outside.
        parts = nnx.split(layer) if isinstance(layer, nnx.Module) else None

        def computed(*given: Array) -> Array:
            return compute(layer if parts is None else nnx.merge(*parts), *given)

        return jax.jvp(computed, tuple(where), tuple(direction))[1]

    def _differentiate(
        self, layer: Any, inputs: list[Any], options: dict[str, Any], cotangent: Any, training: bool
    ) -> tuple[Any, dict[int, Any], dict[str, np.ndarray]]:
        with self._running(layer, training):
            output, by_leaf, gradients = compiled.differentiate(layer, inputs, options, cotangent, self.device.platform)
        return output, by_leaf, _gradients(layer, gradients)

    def run_loss_and_gradients(
        self, model: model.EncoderDecoder, batch: Batch, loss: Any, dropout_masks: Mapping[str, np.ndarray] | None
    ) -> tuple[float, dict[str, np.ndarray]]:
        batch, masks = map_leaves(self._tensor, (tuple(batch), dropout_masks))
        compared = compilation.compiled(_loss_and_gradients, 2, self.device.platform)
        total, gradients = compared(compiled.Structure(loss), *compiled.split(model), batch, masks)
        return float(total), _gradients(model, gradients)


@lru_cache(maxsize=32)
def _abstract(config: TransformerConfig, dtype: str) -> tuple[nnx.GraphDef, Any]:
    """A model without numbers: to compile nnx's own initializers, whose numbers would be overwritten, takes seconds.

    Tracing them takes a third of one, and a model of each configuration will do for all.
    """
    build = partial(model.EncoderDecoder.from_config, config, param_dtype=jnp.dtype(dtype))
    return nnx.split(nnx.eval_shape(build))


def _devices() -> dict[str, jax.Device]:
    first, *more = jax.local_devices(backend="cpu")
    other = [device for device in jax.local_devices() if device.platform != "cpu"]
    return {"cpu": first} | {f"{device.platform}:{device.id}": device for device in (*more, *other)}


def _gradients(module: Any, gradients: Mapping[str, Array]) -> dict[str, np.ndarray]:
    parameters = weights.named_parameters(module)
    return by_name(parameters, [gradients[name] for name in parameters])


def _loss_and_gradients(
    loss: compiled.Structure,
    structure: compiled.Structure,
    values: dict[str, Array],
    batch: Any,
    masks: dict[str, Array] | None,
) -> tuple[Array, dict[str, Array]]:
    source, valid_lens, target_in, target_out, target_valid_lens = batch

    def total(values: dict[str, Array]) -> Array:
        model = structure.module(values)
        model.eval() if masks is None else model.train()
        with injected_dropout(model, masks):
            logits, _ = model(source, target_in, valid_lens)
        return loss.module({})(logits, target_out, target_valid_lens).sum()

    with compiled.product_precision():
        return jax.value_and_grad(total)(values)
