"""NumPy in, NumPy out, on torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from transformer_mb.backend import Backend
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import DeviceError
from transformer_mb.trainer import TrainerOptions
from transformer_mb.trees import leaves, map_leaves

from . import attention, decoder, decoding, embedding, encoder, feed_forward, loss, model, normalization, weights
from .dropout import injected_dropout
from .trainer import TorchTrainer


class TorchBackend(Backend):
    name = "torch"
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

    @classmethod
    def version(cls) -> str:
        return torch.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]

    def find_device(self, device: str | None) -> torch.device:
        name = "cuda:0" if device == "cuda" else device or "cpu"
        if name not in self.devices():
            raise DeviceError(f"The device of backend torch must be one of {', '.join(self.devices())}, got {device!r}.")
        return torch.device(name)

    def layer(self, layer: str, *arguments: Any, **options: Any) -> nn.Module:
        return self._place(getattr(self, layer)(*arguments, **options))

    def create(self, config: TransformerConfig) -> nn.Module:
        return self._place(model.EncoderDecoder.from_config(config))

    def _place(self, module: nn.Module) -> nn.Module:
        return module.to(self.device, getattr(torch, self.dtype))

    parameter_shapes = staticmethod(weights.parameter_shapes)
    get_weights = staticmethod(weights.get_weights)
    assign_weights = staticmethod(weights.assign_weights)

    def _tensor(self, leaf: Any) -> Any:
        """A NumPy array on this device, floats in this dtype; anything else as it is."""
        if not isinstance(leaf, np.ndarray):
            return leaf
        dtype = getattr(torch, self.dtype) if leaf.dtype.kind == "f" else None
        return torch.as_tensor(leaf).to(self.device, dtype)

    def apply(
        self,
        layer: Any,
        *inputs: Any,
        training: bool = False,
        dropout_masks: Mapping[str, np.ndarray] | None = None,
        **options: Any,
    ) -> Any:
        inputs, options = map_leaves(self._tensor, inputs), map_leaves(self._tensor, options)
        with torch.no_grad(), _mode(layer, training), injected_dropout(layer, dropout_masks):
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
        watched = [leaf for leaf in leaves(inputs) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
        for leaf in watched:
            leaf.requires_grad_()
        parameters = dict(layer.named_parameters()) if isinstance(layer, nn.Module) else {}
        with _mode(layer, training), injected_dropout(layer, dropout_masks):
            output = layer(*inputs, **options)
            output = output[0] if isinstance(output, tuple) else output
        targets = [*watched, *parameters.values()]
        found = torch.autograd.grad(output, targets, self._tensor(cotangent), materialize_grads=True)
        found = [_numpy(gradient) for gradient in found]
        by_leaf = {id(leaf): gradient for leaf, gradient in zip(watched, found, strict=False)}
        by_name = dict(zip(parameters, found[len(watched) :], strict=True))
        return _numpy(output), [by_leaf.get(id(leaf)) for leaf in leaves(inputs)], by_name

    def trainer_from(self, model: nn.Module, options: TrainerOptions) -> TorchTrainer:
        return TorchTrainer(model, options)

    def run_encoder(self, model, source, valid_lens, token_types):
        return self.apply(model.encoder, source, valid_lens, token_types=token_types)

    def run_logits(self, model, source, valid_lens, target):
        return self.apply(model, source, target, valid_lens)[0]

    def run_attention(self, model, source, valid_lens, target):
        source, valid_lens, target = map_leaves(self._tensor, (source, valid_lens, target))
        enc_outputs, found = None, {}
        with torch.no_grad(), _mode(model, False):
            if model.encoder is not None:
                enc_outputs = model.encoder(source, valid_lens, need_weights=True)
                found["encoder"] = model.encoder.attention_weights
            if model.decoder is not None:
                model.decoder(target, model.decoder.init_state(enc_outputs, valid_lens), need_weights=True)
                found["decoder_self"], found["decoder_cross"] = model.decoder.attention_weights
        return map_leaves(_numpy, found)

    def run_loss_and_gradients(self, model, batch, loss, dropout_masks):
        source, valid_lens, target_in, target_out, target_valid_lens = map_leaves(self._tensor, batch)
        names, parameters = zip(*model.named_parameters(), strict=True)
        with _mode(model, dropout_masks is not None), injected_dropout(model, dropout_masks):
            logits, _ = model(source, target_in, valid_lens)
        total = loss(logits, target_out, target_valid_lens).sum()
        found = torch.autograd.grad(total, parameters, materialize_grads=True)
        return total.item(), {name: _numpy(gradient) for name, gradient in zip(names, found, strict=True)}

    def run_greedy(self, model, source, valid_lens, max_steps):
        with _mode(model, False):
            return _numpy(decoding.greedy(model, self._tensor(source), self._tensor(valid_lens), max_steps))

    def start_beam(self, model, source, valid_lens, max_steps, beam):
        model.eval()
        return decoding.BeamDecoder(model, self._tensor(source), self._tensor(valid_lens), max_steps, beam)


def _numpy(leaf: Any) -> Any:
    return weights.to_numpy(leaf) if isinstance(leaf, torch.Tensor) else leaf


@contextmanager
def _mode(layer: Any, training: bool) -> Iterator[None]:
    """Training or evaluation mode inside, what it was afterwards; plain functions have none."""
    before = getattr(layer, "training", training)
    if before != training:
        layer.train(training)
    try:
        yield
    finally:
        if before != training:
            layer.train(before)
