"""Mistakes that no cell sees, each with what would see it. A line here is a hole that is known."""

# ruff: noqa: E501

from __future__ import annotations

REASONS: dict[str, tuple[str, ...]] = {
    "a framework's own random dropout is in no cell, whose masks are injected; tests/conformance/test_dropout.py holds it": (
        "numpy/dropout.py Dropout.forward: if not self.training or (self.p == 0.0 and self.keep is None): -> if not self.training or (self.p == 0.0 or self.keep is None):",
        'torch/dropout.py Dropout.forward: if not self.training or self.p == 0.0 or (self.keep is None and X.device.type != "cpu"): -> if not self.training or self.p == 0.0 or (((X.device.type != "cpu"))):',
    ),
    "cells make a model for each request and do not look at what a call leaves behind; tests/conformance hold the mode": (
        "numpy/backend.py _mode: layer.train(before) -> pass",
        "paddle/backend.py PaddleBackend._creation: paddle.set_default_dtype(before) -> pass",
        "torch/backend.py _mode: layer.train(before) -> pass",
    ),
    "whole training steps run with one recipe: a free-running case with a loss per token and label smoothing would see it": (
        "mxnet/trainer.py MXNetTrainer.__init__: self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization) -> self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing)",
        "paddle/trainer.py PaddleTrainer.__init__: self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization) -> self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing)",
        "torch/trainer.py TorchTrainer.__init__: self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing, normalization=options.normalization) -> self.loss = MaskedSoftmaxCELoss(label_smoothing=options.label_smoothing)",
    ),
    "every model that a cell trains by whole steps is in training mode as it was made; one that decoded before would show it": (
        "torch/trainer.py TorchTrainer.run_step: if not self.model.training: -> if self.model.training:",
    ),
    "no cell has gradients whose norm is below the limit: a drawn clip_norm above the norm would see it": (
        "paddle/optimizers.py clip_gradients: return gradients * (clip_norm / norm).clip(max=1.0) -> return gradients * clip_norm / norm",
        "torch/optimizers.py clip_gradients: torch._foreach_mul_(gradients, (clip_norm / norm).clamp(max=1.0)) -> torch._foreach_mul_(gradients, clip_norm / norm)",
    ),
    "every decoder of the cells has two blocks or more with caches of one length: a drawn decoder of one block would see it": (
        "mxnet/decoder.py TransformerDecoder._hidden_states: own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention -> own = KeyValueCache() if state[2][1] is None else state[2][0].self_attention",
        "torch/decoder.py TransformerDecoder._hidden_states: own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention -> own = KeyValueCache() if state[2][0] is None else state[2][1].self_attention",
    ),
    "the pooler is compared forward only: gradients of an encoder alone would see it": (
        "numpy/model.py Pooler.forward: self.remember(X.shape, Y) -> self.remember(Y, X.shape)",
        "paddle/model.py Pooler.forward: return paddle.tanh(self.dense(X[:, 0])) -> return detached(paddle.tanh(self.dense(X[:, 0])))",
    ),
    "the inputs of GELU are of about size 1 in every cell: drawn ones that are large or tiny would see it (tests/reference/test_erf.py holds it)": (
        "numpy/activations.py erf: ranges = ((_near, size <= 0.46875), (_middle, (size > 0.46875) & (size <= 4.0)), (_far, (size > 4.0) & (size < ONE))) -> ranges = ((_near, size <= 0.46875), (_middle, (size > 0.46875) | (size <= 4.0)), (_far, (size > 4.0) & (size < ONE)))",
        "numpy/activations.py module: 3.05326634961232344e-1, -> 0.6106532699224647,",
    ),
    "cells compare outputs, not attention weights; a row that compares them would see it (tests/conformance/test_shapes.py holds them)": (
        "mxnet/encoder.py TransformerEncoder.forward: need_weights: bool = False, -> need_weights: bool = True,",
        "numpy/encoder.py EncoderBlock.forward: X = self.addnorm1(X, self.attention(Y, Y, Y, valid_lens, mask=mask, need_weights=need_weights)) -> X = self.addnorm1(X, self.attention(Y, Y, Y, valid_lens, mask=mask))",
        "numpy/encoder.py TransformerEncoder.forward: need_weights: bool = False, -> need_weights: bool = True,",
        "paddle/encoder.py TransformerEncoder.forward: X = block(X, mask=mask, need_weights=need_weights) -> X = block(X, mask=mask)",
    ),
    "no cell normalizes a vector of equal numbers: a drawn constant row would see it": (
        "paddle/normalization.py _root: positive = X > 0 -> positive = X >= 0",
        "paddle/normalization.py _root: return paddle.where(positive, paddle.sqrt(paddle.where(positive, X, paddle.ones_like(X))), X) -> return paddle.where(positive, paddle.sqrt((X)), X)",
    ),
    "every decoder with an encoder has lengths: a drawn one without would see it": (
        "mxnet/decoder.py DecoderBlock._cross: if valid_lens is None or per_step(valid_lens): -> if ((per_step(valid_lens))):",
    ),
    "nobody looks whether an array that was given is written into; tests/conformance hold that weights and inputs stay": (
        'mxnet/backend.py MXNetBackend._tensor: return weights.to_device(leaf.astype(self.dtype) if leaf.dtype.kind == "f" else leaf.copy(), self.device) -> return weights.to_device(leaf.astype(self.dtype) if leaf.dtype.kind == "f" else leaf, self.device)',
    ),
    "padding without a buffer is a third of the caches that are drawn with padding, and none of seeds 0 to 2": (
        "numpy/decoder.py TransformerDecoder.init_state: fresh = max_steps is None and left_padding is None -> fresh = ((max_steps is None))",
        "torch/decoder.py TransformerDecoder.init_state: fresh = max_steps is None and left_padding is None -> fresh = max_steps is None or left_padding is None",
        "torch/decoder.py TransformerDecoder.init_state: fresh = max_steps is None and left_padding is None -> fresh = ((max_steps is None))",
        "numpy/decoder.py TransformerDecoder.init_state: fresh = max_steps is None and left_padding is None -> fresh = max_steps is None and left_padding is not None",
    ),
    "no block had encoder outputs and no cross-attention; since this run such blocks are drawn": (
        "torch/decoder.py DecoderBlock.forward: if self.attention2 is not None and enc_outputs is not None: -> if ((enc_outputs is not None)):",
    ),
    "tokens are no cells in formats of two bytes; tests/conformance/test_ties.py holds them": (
        "torch/decoding.py BeamDecoder.step: logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) -> logits = logits.to(torch.promote_types(logits.dtype, torch.bfloat16))",
    ),
    "a layer's own initial weights are in no cell, which set them; they are the framework's affair": (
        "numpy/framework.py Linear.__init__: self.weight = Parameter((2.0 * weight - 1.0) * limit) -> self.weight = Parameter((2.0 * weight + 1.0) * limit)",
        "numpy/framework.py Linear.__init__: self.weight = Parameter((2.0 * weight - 1.0) * limit) -> self.weight = Parameter((4.0 * weight - 1.0) * limit)",
    ),
    "inside a model queries, keys and values are all one array or all different": (
        "numpy/attention.py MultiHeadAttention.forward: if queries is keys and keys is values: -> if ((queries is keys)):",
    ),
    "every caller in the cells says which mode": (
        "numpy/framework.py Layer.train: def train(self, mode: bool = True) -> Layer: -> def train(self, mode: bool = False) -> Layer:",
    ),
    "cells do not look at the attention weights that a call leaves behind without being asked for them": (
        "numpy/decoder.py TransformerDecoder.forward: def forward(self, X: np.ndarray, state: list[Any], *, need_weights: bool = False) -> tuple[np.ndarray, list[Any]]: -> def forward(self, X: np.ndarray, state: list[Any], *, need_weights: bool = True) -> tuple[np.ndarray, list[Any]]:",
    ),
    "the epsilons that are drawn are 1e-5, 1e-6 and 1e-2: one between 1e-3 and 2e-3 would raise": (
        'paddle/normalization.py LayerNorm.forward: if self.kind == "layer_norm" and X.dtype != paddle.float64 and self.eps <= 1e-3: -> if self.kind == "layer_norm" and X.dtype != paddle.float64 and self.eps <= 0.002:',
    ),
    "it differs on other devices than the tests have; `make parity` on a GPU would see it": (
        "torch/attention.py DotProductAttention.forward: rate = self.dropout.p if self.training else 0.0 -> rate = self.dropout.p if self.training else 1.0",
        "paddle/embedding.py PositionalEncoding.forward: if self.P.dtype != X.dtype or self.P.place != X.place: -> if ((self.P.dtype != X.dtype)):",
    ),
    "a norm's own initial weights are in no cell, which sets them; tests/conformance/test_shapes.py holds those of blocks": (
        "numpy/normalization.py LayerNorm.__init__: self.weight = Parameter(np.ones(self.norm_shape, np.float32)) if affine else None -> self.weight = Parameter(np.ones(self.norm_shape, np.float16)) if affine else None",
        "paddle/normalization.py LayerNorm.__init__: self.weight = self.create_parameter(self.norm_shape, default_initializer=ones) if affine else None -> self.weight = self.create_parameter(self.norm_shape) if affine else None",
    ),
    "lengths come as int64 in every cell: left padding in int32 would raise": (
        "paddle/embedding.py _rows: return F.embedding((start.unsqueeze(1) + paddle.arange(count, dtype=start.dtype)).clip(min=0), table) -> return F.embedding((start.unsqueeze(1) + paddle.arange(count)).clip(min=0), table)",
    ),
    "no cell hands over an array without axes": (
        "mxnet/weights.py to_device: if array.dtype == np.bool_ or array.ndim == 0 or array.size == 0: -> if array.dtype == np.bool_ and array.ndim == 0 or array.size == 0:",
    ),
}
SURVIVORS = {key: reason for reason, keys in REASONS.items() for key in keys}
