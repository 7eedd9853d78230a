"""NumPy in, NumPy out, on TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from transformer_mb.backend import Backend
from transformer_mb.config import TransformerConfig
from transformer_mb.errors import DeviceError
from transformer_mb.trainer import TrainerOptions
from transformer_mb.trees import leaves, map_leaves

from . import attention, decoder, decoding, embedding, encoder, feed_forward, loss, model, normalization, weights
from .dropout import injected_dropout
from .trainer import TensorFlowTrainer


class TensorFlowBackend(Backend):
    name = "tensorflow"
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
        return tf.__version__

    @classmethod
    def devices(cls) -> list[str]:
        return ["cpu", *(f"gpu:{i}" for i in range(len(tf.config.list_physical_devices("GPU"))))]

    def find_device(self, device: str | None) -> str:
        """TensorFlow knows a device by its name."""
        names = self.devices()
        first_gpu = "gpu:0" if device or "gpu:0" in names else "cpu"
        name = first_gpu if device in (None, "gpu", "cuda") else device
        if name not in names:
            raise DeviceError(f"The device of backend tensorflow must be one of {', '.join(names)}, got {device!r}.")
        if name != "cpu":
            # TF32 would be the default for float32; the switch is the whole process's.
            tf.config.experimental.enable_tensor_float_32_execution(False)
        return name

    def layer(self, layer: str, *arguments: Any, **options: Any) -> keras.layers.Layer:
        with tf.device(self.device):
            return getattr(self, layer)(*arguments, dtype=self.dtype, **options)

    def create(self, config: TransformerConfig) -> keras.Model:
        with tf.device(self.device):
            return model.EncoderDecoder.from_config(config, dtype=self.dtype)

    parameter_shapes = staticmethod(weights.parameter_shapes)
    get_weights = staticmethod(weights.get_weights)
    assign_weights = staticmethod(weights.assign_weights)

    def _tensor(self, leaf: Any) -> Any:
        """A NumPy array on this device, floats in this dtype; anything else as it is."""
        if not isinstance(leaf, np.ndarray):
            return leaf
        with tf.device(self.device):
            return tf.cast(leaf, self.dtype) if leaf.dtype.kind == "f" else tf.constant(leaf)

    def apply(
        self,
        layer: Any,
        *inputs: Any,
        training: bool = False,
        dropout_masks: Mapping[str, np.ndarray] | None = None,
        **options: Any,
    ) -> Any:
        inputs, options = map_leaves(self._tensor, inputs), map_leaves(self._tensor, options)
        with tf.device(self.device), injected_dropout(layer, dropout_masks):
            return map_leaves(_numpy, layer(*inputs, **options, **_mode(layer, training)))

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
        watched = [leaf for leaf in leaves(inputs) if isinstance(leaf, tf.Tensor) and leaf.dtype.is_floating]
        parameters = weights.named_parameters(layer) if isinstance(layer, keras.layers.Layer) else {}
        with tf.device(self.device), tf.GradientTape() as tape, injected_dropout(layer, dropout_masks):
            tape.watch(watched)
            output = layer(*inputs, **options, **_mode(layer, training))
            output = output[0] if isinstance(output, tuple) else output
        found = _gradients(tape, output, (watched, _variables(parameters)), self._tensor(cotangent))
        by_leaf = {id(leaf): _numpy(gradient) for leaf, gradient in zip(watched, found[0], strict=True)}
        by_name = _canonical(parameters, found[1])
        return _numpy(output), [by_leaf.get(id(leaf)) for leaf in leaves(inputs)], by_name

    def trainer_from(self, model: keras.Model, options: TrainerOptions) -> TensorFlowTrainer:
        return TensorFlowTrainer(model, options)

    def run_encoder(self, model, source, valid_lens, token_types):
        return self.apply(model.encoder, source, valid_lens, token_types=token_types)

    def run_logits(self, model, source, valid_lens, target):
        return self.apply(model, source, target, valid_lens)[0]

    def run_attention(self, model, source, valid_lens, target):
        source, valid_lens, target = map_leaves(self._tensor, (source, valid_lens, target))
        enc_outputs, found = None, {}
        with tf.device(self.device):
            if model.encoder is not None:
                enc_outputs = model.encoder(source, valid_lens, need_weights=True, training=False)
                found["encoder"] = model.encoder.attention_weights
            if model.decoder is not None:
                state = model.decoder.init_state(enc_outputs, valid_lens)
                model.decoder(target, state, need_weights=True, training=False)
                found["decoder_self"], found["decoder_cross"] = model.decoder.attention_weights
        return map_leaves(_numpy, found)

    def run_loss_and_gradients(self, model, batch, loss, dropout_masks):
        source, valid_lens, target_in, target_out, target_valid_lens = map_leaves(self._tensor, batch)
        parameters = weights.named_parameters(model)
        with tf.device(self.device), tf.GradientTape() as tape, injected_dropout(model, dropout_masks):
            logits, _ = model(source, target_in, valid_lens, training=dropout_masks is not None)
            total = tf.reduce_sum(loss(logits, target_out, target_valid_lens))
        return float(total), _canonical(parameters, _gradients(tape, total, _variables(parameters)))

    def run_greedy(self, model, source, valid_lens, max_steps):
        with tf.device(self.device):
            return _numpy(decoding.greedy(model, self._tensor(source), self._tensor(valid_lens), max_steps))

    def start_beam(self, model, source, valid_lens, max_steps, beam):
        with tf.device(self.device):
            return decoding.BeamDecoder(model, self._tensor(source), self._tensor(valid_lens), max_steps, beam)


def _numpy(leaf: Any) -> Any:
    return weights.to_numpy(leaf) if isinstance(leaf, tf.Tensor | tf.IndexedSlices) else leaf


def _mode(layer: Any, training: bool) -> dict[str, bool]:
    """Keras takes ``training`` for any layer, and hands it on; plain functions have none."""
    return {"training": training} if isinstance(layer, keras.layers.Layer) else {}


def _variables(parameters: Mapping[str, weights.Parameter]) -> list[tf.Variable]:
    return [parameter.variable.value for parameter in parameters.values()]


def _gradients(tape: tf.GradientTape, output: tf.Tensor, sources: Any, cotangent: tf.Tensor | None = None) -> Any:
    return tape.gradient(output, sources, cotangent, unconnected_gradients=tf.UnconnectedGradients.ZERO)


def _canonical(parameters: Mapping[str, weights.Parameter], gradients: Sequence[tf.Tensor]) -> dict[str, np.ndarray]:
    return {name: parameters[name].canonical(gradient) for name, gradient in zip(parameters, gradients, strict=True)}
