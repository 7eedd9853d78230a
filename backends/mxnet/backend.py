"""NumPy in, NumPy out, on MXNet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet import np as mnp

from transformer_mb.backend import Backend
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import DeviceError
from transformer_mb.trainer import TrainerOptions
from transformer_mb.trees import leaves, map_leaves

from . import attention, decoder, decoding, embedding, encoder, feed_forward, loss, model, normalization, weights
from .dropout import injected_dropout
from .trainer import MXNetTrainer


class MXNetBackend(Backend):
    name = "mxnet"
    # float16 products fail on the CPU, asynchronously; bfloat16 arrays cannot be made from or read as NumPy's.
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
        return mx.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu", *(f"gpu:{i}" for i in range(mx.context.num_gpus()))]

    def find_device(self, device: str | None) -> mx.Context:
        name = "gpu:0" if device == "gpu" else device or "cpu"
        if name not in self.devices():
            raise DeviceError(f"The device of backend mxnet must be one of {', '.join(self.devices())}, got {device!r}.")
        kind, _, number = name.partition(":")
        return mx.Context(kind, int(number or 0))

    @property
    def device_name(self) -> str:
        kind = self.device.device_type
        return kind if kind == "cpu" else f"{kind}:{self.device.device_id}"

    def layer(self, layer: str, *arguments: Any, **options: Any) -> gluon.Block:
        return self._place(getattr(self, layer)(*arguments, **options))

    def create(self, config: TransformerConfig) -> gluon.Block:
        return self._place(model.EncoderDecoder.from_config(config))

    def _place(self, block: gluon.Block) -> gluon.Block:
        # The default initialisers know only float32.
        block.initialize(ctx=self.device)
        block.cast(self.dtype)
        return block

    parameter_shapes = staticmethod(weights.parameter_shapes)
    get_weights = staticmethod(weights.get_weights)
    assign_weights = staticmethod(weights.assign_weights)

    def _tensor(self, leaf: Any) -> Any:
        """A NumPy array on this device, floats in this dtype; anything else as it is."""
        if not isinstance(leaf, np.ndarray):
            return leaf
        return weights.to_device(leaf.astype(self.dtype) if leaf.dtype.kind == "f" else leaf.copy(), self.device)

    def apply(
        self,
        layer: Any,
        *inputs: Any,
        training: bool = False,
        dropout_masks: Mapping[str, np.ndarray] | None = None,
        **options: Any,
    ) -> Any:
        inputs, options = map_leaves(self._tensor, inputs), map_leaves(self._tensor, options)
        with autograd.pause(train_mode=training), injected_dropout(layer, dropout_masks):
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
        inputs, options = map_leaves(self._tensor, list(inputs)), map_leaves(self._tensor, options)
        watched = [leaf for leaf in leaves(inputs) if isinstance(leaf, mnp.ndarray) and np.dtype(leaf.dtype).kind == "f"]
        for leaf in watched:
            leaf.attach_grad()
        parameters = weights.named_parameters(layer)
        with _recording(parameters, training), injected_dropout(layer, dropout_masks):
            output = layer(*inputs, **options)
            output = output[0] if isinstance(output, tuple) else output
        output.backward(self._tensor(cotangent))
        by_leaf = {id(leaf): leaf.grad.asnumpy() for leaf in watched}
        return output.asnumpy(), [by_leaf.get(id(leaf)) for leaf in leaves(inputs)], _gradients(parameters)

    def trainer_from(self, model: gluon.Block, options: TrainerOptions) -> MXNetTrainer:
        return MXNetTrainer(model, options)

    def run_encoder(self, model, source, valid_lens, token_types):
        return self.apply(model.encoder, source, valid_lens, token_types=token_types)

    def run_logits(self, model, source, valid_lens, target):
        return self.apply(model, source, target, valid_lens)[0]

    def run_attention(self, model, source, valid_lens, target):
        source, valid_lens, target = map_leaves(self._tensor, (source, valid_lens, target))
        enc_outputs, found = None, {}
        with autograd.pause(train_mode=False):
            if model.encoder is not None:
                enc_outputs = model.encoder(source, valid_lens, need_weights=True)
                found["encoder"] = model.encoder.attention_weights
            if model.decoder is not None:
                model.decoder(target, model.decoder.init_state(enc_outputs, valid_lens), need_weights=True)
                found["decoder_self"], found["decoder_cross"] = model.decoder.attention_weights
        return map_leaves(_numpy, found)

    def run_loss_and_gradients(self, model, batch, loss, dropout_masks):
        source, valid_lens, target_in, target_out, target_valid_lens = map_leaves(self._tensor, batch)
        parameters = weights.named_parameters(model)
        with _recording(parameters, dropout_masks is not None), injected_dropout(model, dropout_masks):
            logits, _ = model(source, target_in, valid_lens)
            total = loss(logits, target_out, target_valid_lens).sum()
        total.backward()
        return total.item(), _gradients(parameters)

    def run_greedy(self, model, source, valid_lens, max_steps):
        return _numpy(decoding.greedy(model, self._tensor(source), self._tensor(valid_lens), max_steps))

    def start_beam(self, model, source, valid_lens, max_steps, beam):
        return decoding.BeamDecoder(model, self._tensor(source), self._tensor(valid_lens), max_steps, beam)


def _numpy(leaf: Any) -> Any:
    return leaf.asnumpy() if isinstance(leaf, mnp.ndarray) else leaf


def _recording(parameters: Mapping[str, gluon.Parameter], training: bool) -> AbstractContextManager:
    """Record for a backward that overwrites every gradient: those of parameters that it does not reach are zero."""
    for parameter in parameters.values():
        parameter.grad()[:] = 0.0  # zero_grad refuses mxnet.np arrays
    return autograd.record(train_mode=training)


def _gradients(parameters: Mapping[str, gluon.Parameter]) -> dict[str, np.ndarray]:
    return {name: parameter.grad().asnumpy() for name, parameter in parameters.items()}
