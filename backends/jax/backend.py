"""NumPy in, NumPy out, on JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from transformer_mb.backend import Backend
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import DeviceError
from transformer_mb.trainer import TrainerOptions
from transformer_mb.trees import leaves, map_leaves

from . import attention, compiled, decoder, decoding, embedding, encoder, feed_forward, loss, model, normalization, weights
from .dropout import injected_dropout
from .trainer import JAXTrainer
from .weights import parameters


class JAXBackend(Backend):
    """A float64 backend sets ``jax_enable_x64`` for the whole process; float32 models work on either way.

    What this backend computes has full float32 precision on a GPU (no TF32); layers called natively follow
    ``jax_default_matmul_precision``.
    """

    name = "jax"
    dtypes = ("float32", "float64", "bfloat16", "float16")

    LayerNorm = normalization.LayerNorm
    AddNorm = normalization.AddNorm
    PositionWiseFFN = feed_forward.PositionWiseFFN
    DotProductAttention = attention.DotProductAttention
    MultiHeadAttention = attention.MultiHeadAttention
    PositionalEncoding = embedding.PositionalEncoding
    EncoderBlock = encoder.EncoderBlock
    DecoderBlock = decoder.DecoderBlock
    TransformerEncoder = encoder.TransformerEncoder
    TransformerDecoder = decoder.TransformerDecoder
    EncoderDecoder = model.EncoderDecoder
    MaskedSoftmaxCELoss = loss.MaskedSoftmaxCELoss
    sequence_mask = staticmethod(attention.sequence_mask)
    masked_softmax = staticmethod(attention.masked_softmax)
    transpose_qkv = staticmethod(attention.transpose_qkv)
    transpose_output = staticmethod(attention.transpose_output)

    def __init__(self, device: str | None = None, dtype: str = "float32"):
        super().__init__(device, dtype)
        if dtype == "float64":
            jax.config.update("jax_enable_x64", True)

    @classmethod
    def version(cls) -> str:
        return jax.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return list(_devices())

    def find_device(self, device: str | None) -> jax.Device:
        found = _devices()
        if device is None:
            return jax.local_devices()[0]
        # JAX's own name for NVIDIA's platform is "gpu"; it takes "cuda" too.
        name = device.replace("cuda", "gpu")
        name = name if name in found else f"{name}:0"
        if name not in found:
            raise DeviceError(f"The device of backend jax must be one of {', '.join(found)}, got {device!r}.")
        return found[name]

    @property
    def device_name(self) -> str:
        return next(name for name, device in _devices().items() if device == self.device)

    def layer(self, layer: str, *arguments: Any, **options: Any) -> nnx.Module:
        made = getattr(self, layer)
        if "param_dtype" in inspect.signature(made.__init__).parameters:
            options = {"param_dtype": jnp.dtype(self.dtype), **options}
        with jax.default_device(self.device):
            return self._place(made(*arguments, **options))

    def create(self, config: TransformerConfig) -> nnx.Module:
        # Abstract, then zeros: to compile nnx's own initialisers, whose numbers would be overwritten, takes seconds.
        dtype = jnp.dtype(self.dtype)
        return self._place(nnx.eval_shape(lambda: model.EncoderDecoder.from_config(config, param_dtype=dtype)))

    def _place(self, module: nnx.Module) -> nnx.Module:
        graphdef, state = nnx.split(module)
        seeds = count()

        def place(leaf: Any) -> Array:
            if isinstance(leaf, jax.ShapeDtypeStruct):
                random = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
                leaf = jax.random.key(next(seeds)) if random else np.zeros(leaf.shape, leaf.dtype)
            return jax.device_put(leaf, self.device)

        return nnx.merge(graphdef, jax.tree.map(place, state))

    parameter_shapes = staticmethod(weights.parameter_shapes)
    get_weights = staticmethod(weights.get_weights)
    assign_weights = staticmethod(weights.assign_weights)

    def _tensor(self, leaf: Any) -> Any:
        """A NumPy array on this device, floats in this dtype; anything else as it is."""
        if not isinstance(leaf, np.ndarray):
            return leaf
        dtype = jnp.dtype(self.dtype) if leaf.dtype.kind == "f" else leaf.dtype
        return jax.device_put(np.asarray(leaf, dtype), self.device)

    def apply(
        self,
        layer: Any,
        *inputs: Any,
        training: bool = False,
        dropout_masks: Mapping[str, np.ndarray] | None = None,
        **options: Any,
    ) -> Any:
        inputs, options = map_leaves(self._tensor, (inputs, options))
        with _mode(layer, training), injected_dropout(layer, dropout_masks):
            return map_leaves(_numpy, compiled.call(layer, inputs, options))

    def gradients(
        self,
        layer: Any,
        inputs: Sequence[Any],
        cotangent: np.ndarray,
        training: bool = False,
        dropout_masks: Mapping[str, np.ndarray] | None = None,
        **options: Any,
    ) -> tuple[np.ndarray, list[np.ndarray | None], dict[str, np.ndarray]]:
        inputs, options = map_leaves(self._tensor, (tuple(inputs), options))
        cotangent = self._tensor(cotangent)
        with _mode(layer, training), injected_dropout(layer, dropout_masks):
            output, found, by_name = compiled.differentiate(layer, inputs, options, cotangent, self.device.platform)
        return _numpy(output), [_numpy(found.get(id(leaf))) for leaf in leaves(inputs)], _by_name(layer, by_name)

    def trainer_from(self, model: nnx.Module, options: TrainerOptions) -> JAXTrainer:
        return JAXTrainer(model, options)

    def run_encoder(self, model, source, valid_lens, token_types):
        return self._evaluate(_encode, model, source, valid_lens, token_types)

    def run_logits(self, model, source, valid_lens, target):
        return self._evaluate(_logits, model, source, valid_lens, target)

    def run_attention(self, model, source, valid_lens, target):
        return self._evaluate(_attention, model, source, valid_lens, target)

    def _evaluate(self, function: Callable[..., Any], model: nnx.Module, *arrays: np.ndarray | None) -> Any:
        return map_leaves(_numpy, compiled.evaluate(function, *compiled.split(model), *map_leaves(self._tensor, arrays)))

    def run_loss_and_gradients(self, model, batch, loss, dropout_masks):
        batch, masks = map_leaves(self._tensor, (batch, dropout_masks))
        compared = compiled.compiled_quickly(_loss_and_gradients, 2, self.device.platform)
        total, found = compared(compiled.Structure(loss), *compiled.split(model), batch, masks)
        return float(total), _by_name(model, found)

    def run_greedy(self, model, source, valid_lens, max_steps):
        return _numpy(decoding.greedy(model, self._tensor(source), self._tensor(valid_lens), max_steps))

    def start_beam(self, model, source, valid_lens, max_steps, beam):
        return decoding.BeamDecoder(model, self._tensor(source), self._tensor(valid_lens), max_steps, beam)


def _devices() -> dict[str, jax.Device]:
    found = {"cpu": jax.local_devices(backend="cpu")[0]}
    return found | {f"{device.platform}:{device.id}": device for device in jax.local_devices() if device.platform != "cpu"}


def _numpy(leaf: Any) -> Any:
    return weights.to_numpy(leaf) if isinstance(leaf, Array) else leaf


def _by_name(module: Any, found: Mapping[str, Array]) -> dict[str, np.ndarray]:
    return {name: parameter.layout(_numpy(found[name])) for name, parameter in parameters(module).items()}


def _encode(model, source, valid_lens, token_types):
    return model.encoder(source, valid_lens, token_types=token_types)


def _logits(model, source, valid_lens, target):
    return model(source, target, valid_lens)[0]


def _attention(model, source, valid_lens, target):
    enc_outputs, found = None, {}
    if model.encoder is not None:
        enc_outputs = model.encoder(source, valid_lens, need_weights=True)
        found["encoder"] = model.encoder.attention_weights
    if model.decoder is not None:
        model.decoder(target, model.decoder.init_state(enc_outputs, valid_lens), need_weights=True)
        found["decoder_self"], found["decoder_cross"] = model.decoder.attention_weights
    return found


def _loss_and_gradients(loss, structure, values, batch, masks):
    source, valid_lens, target_in, target_out, target_valid_lens = batch

    def total(values):
        model = structure.module(values)
        model.eval() if masks is None else model.train()
        with injected_dropout(model, masks):
            logits, _ = model(source, target_in, valid_lens)
        return loss.module({})(logits, target_out, target_valid_lens).sum()

    with compiled.full_precision():
        return jax.value_and_grad(total)(values)


@contextmanager
def _mode(layer: Any, training: bool) -> Iterator[None]:
    """Training or evaluation mode inside, what it was afterwards; plain functions have none."""
    modules = [module for _, module in weights.named_modules(layer) if hasattr(module, "deterministic")]
    before = [module.deterministic for module in modules]
    for module in modules:
        module.deterministic = not training
    try:
        yield
    finally:
        for module, mode in zip(modules, before, strict=True):
            module.deterministic = mode
