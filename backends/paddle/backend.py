"""NumPy in, NumPy out, on Paddle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import paddle
from paddle import Tensor, nn

from transformer_mb.backend import Backend
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import DeviceError
from transformer_mb.trainer import TrainerOptions
from transformer_mb.trees import leaves, map_leaves

from . import attention, decoder, decoding, embedding, encoder, feed_forward, loss, model, normalization, weights
from .dropout import injected_dropout
from .trainer import PaddleTrainer


class PaddleBackend(Backend):
    name = "paddle"
    # Paddle's CPU kernels for bfloat16 and float16 lack matmul, softmax and layer_norm among others.
    dtypes = ("float32", "float64")

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

    @classmethod
    def version(cls) -> str:
        return paddle.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu", *(f"gpu:{i}" for i in range(paddle.device.cuda.device_count()))]

    def find_device(self, device: str | None) -> Any:
        name = "gpu:0" if device == "gpu" else device or paddle.get_device()
        if name not in self.devices():
            raise DeviceError(f"The device of backend paddle must be one of {', '.join(self.devices())}, got {device!r}.")
        return paddle.CPUPlace() if name == "cpu" else paddle.CUDAPlace(int(name.removeprefix("gpu:")))

    @property
    def device_name(self) -> str:
        return str(self.device).removeprefix("Place(").removesuffix(")")

    def layer(self, layer: str, *arguments: Any, **options: Any) -> nn.Layer:
        with self._creation():
            return getattr(self, layer)(*arguments, **options)

    def create(self, config: TransformerConfig) -> nn.Layer:
        with self._creation():
            return model.EncoderDecoder.from_config(config)

    @contextmanager
    def _creation(self) -> Iterator[None]:
        """Paddle makes parameters in the process's default dtype, which is afterwards what it was."""
        before = paddle.get_default_dtype()
        paddle.set_default_dtype(self.dtype)
        try:
            with paddle.device.device_guard(self.device):
                yield
        finally:
            paddle.set_default_dtype(before)

    parameter_shapes = staticmethod(weights.parameter_shapes)
    get_weights = staticmethod(weights.get_weights)
    assign_weights = staticmethod(weights.assign_weights)

    def tensor(self, leaf: Any) -> Any:
        """A NumPy array on this device, floats in this dtype; anything else as it is."""
        if not isinstance(leaf, np.ndarray):
            return leaf
        return paddle.to_tensor(leaf, self.dtype if leaf.dtype.kind == "f" else None, self.device)

    def apply(
        self,
        layer: Any,
        *inputs: Any,
        training: bool = False,
        dropout_masks: Mapping[str, np.ndarray] | None = None,
        **options: Any,
    ) -> Any:
        inputs, options = map_leaves(self.tensor, inputs), map_leaves(self.tensor, options)
        with paddle.no_grad(), self._mode(layer, training), injected_dropout(layer, dropout_masks):
            return map_leaves(_numpy, layer(*inputs, **options))

    def gradients(
        self,
        layer: Any,
        inputs: Sequence[Any],
        cotangent: np.ndarray,
        training: bool = False,
        dropout_masks: Mapping[str, np.ndarray] | None = None,
        **options: Any,
    ) -> tuple[np.ndarray, list[np.ndarray | None], dict[str, np.ndarray]]:
        inputs, options = map_leaves(self.tensor, list(inputs)), map_leaves(self.tensor, options)
        watched = [leaf for leaf in leaves(inputs) if isinstance(leaf, Tensor) and leaf.is_floating_point()]
        for leaf in watched:
            leaf.stop_gradient = False
        entries = weights.entries(layer) if isinstance(layer, nn.Layer) else {}
        with self._mode(layer, training), injected_dropout(layer, dropout_masks):
            output = layer(*inputs, **options)
            output = output[0] if isinstance(output, tuple) else output
            tensors = [*watched, *(entry.parameter for entry in entries.values())]
            found = weights.gradients(output, tensors, self.tensor(cotangent))
        by_leaf = {id(leaf): _numpy(gradient) for leaf, gradient in zip(watched, found, strict=False)}
        by_name = _by_name(entries, found[len(watched) :])
        return _numpy(output), [by_leaf.get(id(leaf)) for leaf in leaves(inputs)], by_name

    def trainer_from(self, model: nn.Layer, options: TrainerOptions) -> PaddleTrainer:
        return PaddleTrainer(model, options)

    def run_encoder(self, model, source, valid_lens, token_types):
        return self.apply(model.encoder, source, valid_lens, token_types=token_types)

    def run_logits(self, model, source, valid_lens, target):
        return self.apply(model, source, target, valid_lens)[0]

    def run_attention(self, model, source, valid_lens, target):
        source, valid_lens, target = map_leaves(self.tensor, (source, valid_lens, target))
        enc_outputs, found = None, {}
        with paddle.no_grad(), self._mode(model, False):
            if model.encoder is not None:
                enc_outputs = model.encoder(source, valid_lens, need_weights=True)
                found["encoder"] = model.encoder.attention_weights
            if model.decoder is not None:
                model.decoder(target, model.decoder.init_state(enc_outputs, valid_lens), need_weights=True)
                found["decoder_self"], found["decoder_cross"] = model.decoder.attention_weights
        return map_leaves(_numpy, found)

    def run_loss_and_gradients(self, model, batch, loss, dropout_masks):
        source, valid_lens, target_in, target_out, target_valid_lens = map_leaves(self.tensor, batch)
        entries = weights.entries(model)
        with self._mode(model, dropout_masks is not None), injected_dropout(model, dropout_masks):
            logits, _ = model(source, target_in, valid_lens)
            total = loss(logits, target_out, target_valid_lens).sum()
            found = weights.gradients(total, [entry.parameter for entry in entries.values()])
        return total.item(), _by_name(entries, found)

    def run_greedy(self, model, source, valid_lens, max_steps):
        with self._mode(model, False):
            return _numpy(decoding.greedy(model, self.tensor(source), self.tensor(valid_lens), max_steps))

    def start_beam(self, model, source, valid_lens, max_steps, beam):
        model.eval()
        return decoding.BeamDecoder(model, self.tensor(source), self.tensor(valid_lens), max_steps, beam)

    @contextmanager
    def _mode(self, layer: Any, training: bool) -> Iterator[None]:
        """On this device, and in training or evaluation mode; afterwards as it was. Plain functions have no mode."""
        before = getattr(layer, "training", training)
        if before != training:
            (layer.train if training else layer.eval)()
        try:
            with paddle.device.device_guard(self.device):
                yield
        finally:
            if before != training:
                (layer.train if before else layer.eval)()


def _by_name(entries: Mapping[str, weights.Entry], gradients: list[Tensor]) -> dict[str, np.ndarray]:
    return {name: entry.canonical(gradient) for (name, entry), gradient in zip(entries.items(), gradients, strict=True)}


def _numpy(leaf: Any) -> Any:
    return weights.to_numpy(leaf) if isinstance(leaf, Tensor) else leaf
