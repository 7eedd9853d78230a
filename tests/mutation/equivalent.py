"""Mistakes that are none: the changed program computes the same, or nothing that anybody is promised is another.

By what ``Mutant.key`` says: file, function, and the line before and after.
"""

# ruff: noqa: E501

from __future__ import annotations

REASONS: dict[str, tuple[str, ...]] = {
    "what is returned is a loss that nobody differentiates": (
        "paddle/trainer.py PaddleTrainer.run_step: return loss.detach() -> return loss",
        "torch/trainer.py TorchTrainer.run_step: return loss.detach() -> return loss",
    ),
    "caches without a buffer of the right size grow by concatenation, to the same keys and values": (
        "numpy/decoder.py TransformerDecoder.init_state: fresh = max_steps is None and left_padding is None -> fresh = ((max_steps is None))",
        "paddle/decoder.py TransformerDecoder.init_state: fresh = max_steps is None and left_padding is None -> fresh = max_steps is not None and left_padding is None",
        "paddle/decoding.py BeamDecoder.__init__: max_steps += inputs.prompt_steps -> max_steps -= inputs.prompt_steps",
        "torch/decoder.py TransformerDecoder.init_state: fresh = max_steps is None and left_padding is None -> fresh = max_steps is None or left_padding is None",
        "torch/decoder.py TransformerDecoder.init_state: fresh = max_steps is None and left_padding is None -> fresh = max_steps is not None and left_padding is None",
    ),
    "another of two ways that compute the same; which one is faster is all that differs": (
        "numpy/decoder.py TransformerDecoder.forward: def forward(self, X: np.ndarray, state: list[Any], *, need_weights: bool = False) -> tuple[np.ndarray, list[Any]]: -> def forward(self, X: np.ndarray, state: list[Any], *, need_weights: bool = True) -> tuple[np.ndarray, list[Any]]:",
        "numpy/attention.py _Projection.__init__: if len(layers) > 1 and not recording() and len(self.rows) < outputs: -> if len(layers) > 1 and not recording() and len(self.rows) > outputs:",
        'paddle/normalization.py LayerNorm.forward: if self.kind == "layer_norm" and X.dtype != paddle.float64 and self.eps <= 1e-3: -> if self.kind == "layer_norm" and X.dtype != paddle.float64 and self.eps <= 0.002:',
        "torch/attention.py DotProductAttention.forward: rate = self.dropout.p if self.training else 0.0 -> rate = self.dropout.p if self.training else 1.0",
        "torch/attention.py _softmax: if scores.shape[-1] >= SHORT_ROW: -> if scores.shape[-1] <= SHORT_ROW:",
        "torch/attention.py _softmax: if scores.shape[-1] >= SHORT_ROW: -> if scores.shape[1] >= SHORT_ROW:",
    ),
    "all parameters lie on one device": (
        "paddle/embedding.py PositionalEncoding.forward: if self.P.dtype != X.dtype or self.P.place != X.place: -> if ((self.P.dtype != X.dtype)):",
        "torch/trainer.py TorchTrainer.__init__: self.device = self.tensors[0].device -> self.device = self.tensors[1].device",
    ),
    "the array has two axes, or the value is the default that stands there": (
        "torch/decoding.py BeamDecoder.step.lowest: ids = torch.arange(logits.shape[-1], dtype=torch.int32, device=self.device) -> ids = torch.arange(logits.shape[1], dtype=torch.int32, device=self.device)",
        "numpy/decoding.py _log_softmax: return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)) -> return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))",
        "numpy/attention.py _Projection.__init__: self.heads = tuple(projected[:, :, i].swapaxes(1, 2) for i in range(len(layers))) -> self.heads = tuple(projected[:, :, i].swapaxes(2, 1) for i in range(len(layers)))",
        "numpy/decoding.py BeamDecoder.step: ids = np.take_along_axis(best, order, axis=-1) -> ids = np.take_along_axis(best, order, axis=1)",
        'numpy/decoding.py BeamDecoder.step: order = np.argsort(-np.take_along_axis(log_probs, best, axis=-1), axis=-1, kind="stable") -> order = np.argsort(-np.take_along_axis(log_probs, best, axis=-1), kind="stable")',
        "torch/decoding.py BeamDecoder.step: best, ids = log_probs.topk(min(count, log_probs.shape[-1]), dim=-1) -> best, ids = log_probs.topk(min(count, log_probs.shape[1]), dim=-1)",
    ),
    "of that shape only the batch, the last two sizes and the number of axes are read": (
        "numpy/encoder.py TransformerEncoder.forward: mask = None if valid_lens is None else length_mask(valid_lens, (B, 1, S, S), X) -> mask = None if valid_lens is None else length_mask(valid_lens, (B, 2, S, S), X)",
        "mxnet/encoder.py TransformerEncoder.forward: mask = None if valid_lens is None else length_mask(valid_lens, (B, 1, S, S), X) -> mask = None if valid_lens is None else length_mask(valid_lens, (B, 2, S, S), X)",
        "paddle/encoder.py TransformerEncoder.forward: mask = None if valid_lens is None else length_mask(valid_lens, (B, 1, S, S), X) -> mask = None if valid_lens is None else length_mask(valid_lens, (B, 0, S, S), X)",
        "torch/encoder.py TransformerEncoder.forward: mask = None if valid_lens is None else length_mask(valid_lens, (B, 1, S, S), X) -> mask = None if valid_lens is None else length_mask(valid_lens, (B, 0, S, S), X)",
    ),
    "a norm that is exactly the limit is scaled by 1": (
        "numpy/optimizers.py clip_gradients: if norm > clip_norm: -> if norm >= clip_norm:",
    ),
    "a mask of one query hides nothing, since its key is the last": (
        "numpy/attention.py _allowed: if causal and T > 1: -> if causal and T >= 1:",
    ),
    "a dropout is never given a mask by itself, only as part of a layer": (
        "paddle/dropout.py dropouts: return {path: sub for path, sub in module.named_sublayers(include_self=True) if isinstance(sub, Dropout) and sub.p > 0.0} -> return {path: sub for path, sub in module.named_sublayers(include_self=False) if isinstance(sub, Dropout) and sub.p > 0.0}",
    ),
    "weights are set right after the layer is made": (
        "numpy/normalization.py LayerNorm.__init__: self.weight = Parameter(np.ones(self.norm_shape, np.float32)) if affine else None -> self.weight = Parameter(np.ones(self.norm_shape, np.float16)) if affine else None",
        "paddle/normalization.py LayerNorm.__init__: self.weight = self.create_parameter(self.norm_shape, default_initializer=ones) if affine else None -> self.weight = self.create_parameter(self.norm_shape) if affine else None",
    ),
    "lengths are divided as floats by the framework itself": (
        'paddle/loss.py MaskedSoftmaxCELoss.forward: return sums / (T if self.normalization == "steps" else valid_len.sum().astype(pred.dtype)) -> return sums / (T if self.normalization == "steps" else valid_len.sum())',
    ),
    "the table is a tuple of one": (
        "paddle/embedding.py PositionalEncoding.P: return self.table[0] -> return self.table[(-1)]",
    ),
    "the framework finds the same integer dtype itself": (
        "paddle/embedding.py _rows: return F.embedding((start.unsqueeze(1) + paddle.arange(count, dtype=start.dtype)).clip(min=0), table) -> return F.embedding((start.unsqueeze(1) + paddle.arange(count)).clip(min=0), table)",
    ),
    "the exact derivative is given beside it, so that what is cut has no gradient": (
        "mxnet/feed_forward.py _gelu: cumulative = (npx.erf(X * math.sqrt(0.5)) + 1.0) * 0.5 -> cumulative = (detached(npx.erf(X * math.sqrt(0.5))) + 1.0) * 0.5",
    ),
    "the framework casts it itself": (
        "mxnet/normalization.py LayerNorm._standardize: positive = npx.cast(variance > 0, dtype=X.dtype) -> positive = (variance > 0)",
    ),
    "the array reaches the device another way, and is the same there": (
        "mxnet/weights.py to_device: if array.dtype == np.bool_ or array.ndim == 0 or array.size == 0: -> if array.dtype == np.bool_ and array.ndim == 0 or array.size == 0:",
        "mxnet/weights.py to_device: return mx.nd.from_numpy(np.ascontiguousarray(array), zero_copy=True).as_np_ndarray().as_in_ctx(context) -> return mx.nd.from_numpy(np.ascontiguousarray(array), zero_copy=False).as_np_ndarray().as_in_ctx(context)",
    ),
    "its gradient is cut already": (
        "mxnet/model.py _TiedDense.forward: weight = weight * (1.0 - padding) + held -> weight = weight * (1.0 - padding) + detached(held)",
    ),
    "of two arguments of a minimum either may come first": (
        "mxnet/optimizers.py clip_gradients: return gradients * mnp.minimum(clip_norm / norm, 1.0) -> return gradients * mnp.minimum(1.0, clip_norm / norm)",
    ),
    "its input has two axes, the last being number 1": (
        "mxnet/decoding.py greedy.step: return decoder._logits(tokens).argmax(axis=-1).asnumpy() -> return decoder._logits(tokens).argmax(axis=1).asnumpy()",
        "mxnet/model.py Pooler.__init__: self.dense = nn.Dense(num_hiddens, in_units=num_hiddens, flatten=False) -> self.dense = nn.Dense(num_hiddens, in_units=num_hiddens, flatten=True)",
    ),
    "the number is a limit of the framework, and one less is within it": (
        "mxnet/trainer.py module: MOST_ARRAYS = 60 -> MOST_ARRAYS = 59",
    ),
    "the table is made anew as soon as an input of another dtype comes": (
        'mxnet/embedding.py PositionalEncoding.__init__: self.P = mnp.array(sinusoid_table(max_len, num_hiddens, layout), dtype="float32") -> self.P = mnp.array(sinusoid_table(max_len, num_hiddens, layout), dtype="float16")',
    ),
    "the argument is for what this class never calls": (
        "mxnet/loss.py MaskedSoftmaxCELoss.__init__: super().__init__(weight=None, batch_axis=0) -> super().__init__(weight=None, batch_axis=(-1))",
    ),
    "a whole number becomes the same float": (
        'torch/trainer.py TorchTrainer.load_moments: state["step"] = torch.tensor(float(self.step_count), dtype=torch.float32, device=self.device) -> state["step"] = torch.tensor((self.step_count), dtype=torch.float32, device=self.device)',
    ),
    "the gradient has no share in what fills the masked steps": (
        "numpy/backend.py module: attention.sequence_mask: lambda gradient, output, X, valid_len, value=0: attention.sequence_mask(gradient, valid_len), -> attention.sequence_mask: lambda gradient, output, X, valid_len, value=(-1): attention.sequence_mask(gradient, valid_len),",
    ),
    "how an array lies in memory is not what it holds": (
        'numpy/weights.py Parameter.to_numpy: return np.array(tensor, order="C") -> return np.array(tensor)',
        "numpy/trainer.py _keep_freed_memory: np.empty(31 * 2**20, np.uint8) -> np.empty((2**20), np.uint8)",
    ),
    "a product's factors in the other order": (
        'numpy/normalization.py LayerNorm.backward: along = np.einsum("nd,nd->n", G, Z)[:, None] -> along = np.einsum("nd,nd->n", Z, G)[:, None]',
    ),
    "the caches of all blocks hold the same steps": (
        "numpy/decoder.py TransformerDecoder._hidden_states: own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention -> own = KeyValueCache() if state[2][0] is None else state[2][(-1)].self_attention",
    ),
}
EQUIVALENT = {key: reason for reason, keys in REASONS.items() for key in keys}
