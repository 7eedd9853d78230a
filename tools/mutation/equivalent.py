"""Mistakes that are none: the changed program computes the same, or nothing that anybody is promised is another.

By what ``Mutant.key`` says: file, function, and the line before and after. Each is one mistake, never a pattern, and names a line
of today or of the run that docs/MUTANTS.md shows. What only another device, dtype, option or a user's own call would show is no
entry here but a survivor.
"""

# ruff: noqa: E501

from __future__ import annotations

REASONS: dict[str, tuple[str, ...]] = {
    "what is returned is a loss that nobody differentiates": (
        "paddle/trainer.py PaddleTrainer.run_batch: return loss.detach() -> return loss",
        "paddle/trainer.py PaddleTrainer.run_step: return loss.detach() -> return loss",
    ),
    "caches without a buffer of the right size grow by concatenation, to the same keys and values": (
        "paddle/decoder.py TransformerDecoder.init_state: fresh = max_steps is None and left_padding is None -> fresh = max_steps is not None and left_padding is None",
        "torch/decoder.py TransformerDecoder.init_state: fresh = max_steps is None and left_padding is None -> fresh = max_steps is not None and left_padding is None",
    ),
    "no parameter has a name for which it is asked": (
        'shared/initialization.py _is_linear_bias: name.endswith(".bias") and len(shapes.get(name.removesuffix("bias") + "weight", ())) == 2 -> ((len(shapes.get(name.removesuffix("bias") + "weight", ())) == 2))',
    ),
    "of a shape that stands for a missing one the width alone is read": (
        'shared/initialization.py _torch_default: weight = shapes.get(name.removesuffix("bias").removesuffix("weight") + "weight", (0, num_hiddens)) -> weight = shapes.get(name.removesuffix("bias").removesuffix("weight") + "weight", ((-1), num_hiddens))',
        'shared/initialization.py _torch_default: weight = shapes.get(name.removesuffix("bias").removesuffix("weight") + "weight", (0, num_hiddens)) -> weight = shapes.get(name.removesuffix("bias").removesuffix("weight") + "weight", (1, num_hiddens))',
    ),
    "what has no gradient is copied, and the copy is the same": (
        "paddle/linear.py without_row: if row is None or not paddle.is_grad_enabled() or table.stop_gradient: -> if ((row is None) or (not paddle.is_grad_enabled())):",
    ),
    "another of two ways that compute the same; which one is faster is all that differs": (
        "jax/trainer.py JAXTrainer.update: apply = compiled(_apply, 0, self.platform) -> apply = compiled(_apply, 1, self.platform)",
        "jax/attention.py _product: if sizes[0] != 1 and all(isinstance(size, int) for size in sizes) and math.prod(sizes) <= SMALL_PRODUCT: -> if not (sizes[0] != 1 and all(isinstance(size, int) for size in sizes) and math.prod(sizes) <= SMALL_PRODUCT):",
        "jax/linear.py reverse_mode: before, _differentiation.reverse = _differentiation.reverse, True -> before, _differentiation.reverse = _differentiation.reverse, False",
        "jax/embedding.py rows_at: if isinstance(start, jax.core.Tracer) or jnp.ndim(start) == 1 or not isinstance(count, int): # jax.export leaves it open -> if isinstance(start, jax.core.Tracer) or jnp.ndim(start) == 1 or isinstance(count, int): # jax.export leaves it open",
        "mxnet/shortcuts/tape.py _Tape._record: if threading.get_ident() != self._thread: -> if threading.get_ident() == self._thread:",
        "mxnet/shortcuts/calls.py compiled_call: if known in (0, 1): -> if known in (0, 2):",
        'mxnet/normalization.py LayerNorm.forward: if self.gamma is not None and self.kind == "layer_norm" and len(self.norm_shape) == 1 and X.dtype == np.float32: -> if self.gamma is not None and self.kind == "layer_norm" and len(self.norm_shape) == 0 and X.dtype == np.float32:',
        "mxnet/trainer.py MXNetTrainer._loss: static = len(self.compiled) < STATIC_STEPS -> static = len(self.compiled) > STATIC_STEPS",
        "mxnet/shortcuts/calls.py compiled_call: known = calls[key] = compiled(function, arrays, static=False) -> known = calls[key] = compiled(function, arrays, static=True)",
        'torch/shortcuts/prepared_layers.py product: if rows not in TURNED or weight.device.type != "cpu" or weight.dtype != torch.float32: -> if ((rows not in TURNED) or (weight.device.type != "cpu")):',
        'torch/attention.py DotProductAttention.forward: slow = (rate > 0.0 or compiled or short) if queries.device.type == "cpu" else _wants_all_digits(queries) -> slow = (rate > 1.0 or compiled or short) if queries.device.type == "cpu" else _wants_all_digits(queries)',
        'torch/shortcuts/composed_attention.py is_one_node: return own and kinds and not traced and forward_ad._current_level < 0 and not torch.is_autocast_enabled("cpu") -> return own and kinds and not traced and forward_ad._current_level < 0 and torch.is_autocast_enabled("cpu")',
        "torch/attention.py DotProductAttention.forward: short = not compiled and keys.shape[-2] < SHORT_ROW and math.prod(scores_shape) > FEW_SCORES -> short = not compiled and keys.shape[-2] > SHORT_ROW and math.prod(scores_shape) > FEW_SCORES",
        "torch/shortcuts/composed_attention.py is_one_node: kinds = all(type(tensor) is Tensor and tensor.dtype in (torch.float32, torch.float64) for tensor in tensors) -> kinds = all(type(tensor) is not Tensor and tensor.dtype in (torch.float32, torch.float64) for tensor in tensors)",
        "torch/attention.py DotProductAttention.forward: if bias is None and not need_weights and is_one_node(self.dropout, queries, keys, values): -> if bias is None and not need_weights and is_one_node(queries, self.dropout, keys, values):",
        "torch/shortcuts/compiled_loss.py compiled_loss: return torch.compile(compute, dynamic=None if weight.is_cuda else True) -> return torch.compile(compute, dynamic=None if weight.is_cuda else False)",
        "torch/shortcuts/compiled_loss.py compiled_loss: if isinstance(module, PositionalEncoding | RelativeBias | RotaryEncoding): -> if isinstance(module, (PositionalEncoding | RelativeBias)):",
        'torch/optimizers.py build_optimizer: one_pass = not parameters[0].is_cuda or options.precision != "full" -> one_pass = parameters[0].is_cuda or options.precision != "full"',
        "torch/decoder.py DecoderBlock._cross: if valid_lens is None or per_step(valid_lens): -> if ((valid_lens is None)):",
        "numpy/shortcuts/decoding_steps.py BlockSteps.__init__: parts = heads(B * S, width, cross.W_k, cross.W_v)(enc_outputs.reshape(B * S, D)) -> parts = heads((B), width, cross.W_k, cross.W_v)(enc_outputs.reshape(B * S, D))",
        "numpy/shortcuts/prepared_layers.py module: TURNED = range(2, 25) -> TURNED = range(3, 25)",
        "mxnet/optimizers.py _Optimizer._adam: if m.dtype == np.float32: -> if m.dtype == np.float16:",
        "paddle/optimizers.py module: LONGEST = 2**20 -> LONGEST = 2**21",
        "paddle/rotary.py RotaryEncoding.forward: if paddle.in_dynamic_mode(): -> if not (paddle.in_dynamic_mode()):",
        "paddle/embedding.py PositionalEncoding._positions: if paddle.in_dynamic_mode(): -> if not (paddle.in_dynamic_mode()):",
        "torch/feed_forward.py PositionWiseFFN.forward: if torch.compiler.is_compiling() and self._joins_positions(): -> if torch.compiler.is_compiling() or self._joins_positions():",
        "torch/attention.py DotProductAttention.forward: short = not compiled and keys.shape[-2] < SHORT_ROW and math.prod(scores_shape) > FEW_SCORES -> short = not compiled and keys.shape[-2] < SHORT_ROW and math.prod(scores_shape) < FEW_SCORES",
        "torch/loss.py _CrossEntropy.backward: if torch.compiler.is_compiling(): # in one pass: what is scattered to would be written and read again -> if not (torch.compiler.is_compiling()): # in one pass: what is scattered to would be written and read again",
        "numpy/framework.py softmax_shift: if scores.min() >= -safe and scores.max() <= safe: -> if scores.min() >= -safe and scores.max() < safe:",
        "numpy/decoding.py module: GROUP = 16 # columns of a vocabulary of which a search for the best looks at the largest first -> GROUP = 15 # columns of a vocabulary of which a search for the best looks at the largest first",
        "jax/compiled.py split: if known is None or len(known[0]) != len(attributes) or not all(map(operator.is_, known[0], attributes)): -> if known is None or len(known[(-1)]) != len(attributes) or not all(map(operator.is_, known[0], attributes)):",
        "tensorflow/decoding.py _compile: functions[key] = tf.function(bound, signature, autograph=False, reduce_retracing=True) -> functions[key] = tf.function(bound, signature, autograph=False, reduce_retracing=False)",
        "tensorflow/trainer.py TensorFlowTrainer.__init__: self._compiled = tf.function(self._whole_step, autograph=False, reduce_retracing=True) -> self._compiled = tf.function(self._whole_step, reduce_retracing=True)",
        "jax/attention.py _product: if A.shape[-2] * A.shape[-1] * B.shape[-1] <= SMALL_PRODUCT: -> if A.shape[-1] * A.shape[-1] * B.shape[-1] <= SMALL_PRODUCT:",
        'mxnet/normalization.py LayerNorm.forward: if self.gamma is not None and self.kind == "layer_norm" and len(self.norm_shape) == 1 and X.dtype == np.float32: -> if self.gamma is not None and self.kind == "layer_norm" and len(self.norm_shape) == 1 and X.dtype == np.float16:',
        "numpy/framework.py softmax_shift: if scores.min() >= -safe and scores.max() <= safe: -> if scores.min() >= safe and scores.max() <= safe:",
        "numpy/optimizers.py module: CHUNK = 16384 -> CHUNK = 16385",
        "mxnet/model.py _TiedDense.forward: if self.padding_id is None or not autograd.is_recording(): -> if ((self.padding_id is None)):",
        "mxnet/model.py TiedDense.forward: if self.padding_id is None or not autograd.is_recording(): -> if ((self.padding_id is None)):",
        "numpy/attention.py _Projection.__init__: if len(layers) > 1 and not recording() and len(self.rows) < outputs: -> if len(layers) > 1 and not recording() and len(self.rows) > outputs:",
    ),
    "all parameters lie on one device": (
        "mxnet/shortcuts/calls.py kind_of: return np.dtype(parameters[0].dtype).name, str(parameters[0].ctx) -> return np.dtype(parameters[0].dtype).name, str(parameters[(-1)].ctx)",
        'torch/optimizers.py build_optimizer: one_pass = not parameters[0].is_cuda or options.precision != "full" -> one_pass = not parameters[(-1)].is_cuda or options.precision != "full"',
        "mxnet/trainer.py MXNetTrainer.__init__: self.context = self.tensors[0].ctx -> self.context = self.tensors[(-1)].ctx",
    ),
    "the array has two axes, the last being number 1": (
        "jax/decoding.py drawn: before = jnp.cumsum(weights, axis=-1) - weights -> before = jnp.cumsum(weights, axis=1) - weights",
        "torch/decoding.py drawn: before = weights.cumsum(dim=-1) - weights -> before = weights.cumsum(dim=1) - weights",
        "torch/loss.py _CrossEntropy.forward: log_probs = logits.log_softmax(-1) -> log_probs = logits.log_softmax(1)",
        "mxnet/decoding.py BeamDecoder._top: total = mnp.log(mnp.exp(logits - best[:, :1]).sum(axis=-1, keepdims=True)) -> total = mnp.log(mnp.exp(logits - best[:, :1]).sum(axis=1, keepdims=True))",
        'paddle/decoding.py drawn: place = paddle.minimum(place, (weights > 0.0).astype("int64").sum(axis=-1) - 1) -> place = paddle.minimum(place, (weights > 0.0).astype("int64").sum(axis=1) - 1)',
        "paddle/decoding.py drawn: before = weights.cumsum(axis=-1) - weights -> before = weights.cumsum(axis=1) - weights",
        "torch/loss.py _CrossEntropy.backward: result.sub_(ctx.smoothing / logits.shape[-1]) -> result.sub_(ctx.smoothing / logits.shape[1])",
        "jax/decoding.py _beam_step: _, ids = jax.lax.top_k(jnp.where(logits == 0.0, 0.0, logits), min(count, logits.shape[-1])) -> _, ids = jax.lax.top_k(jnp.where(logits == 0.0, 0.0, logits), min(count, logits.shape[1]))",
        "torch/decoding.py greedy.step: return decoder._logits(tokens).argmax(dim=-1).cpu().numpy() -> return decoder._logits(tokens).argmax(dim=1).cpu().numpy()",
        "torch/decoding.py greedy: return BeamDecoder(model, inputs, max_steps, 1).generated(inputs, max_steps, lambda logits: logits.argmax(dim=-1)) -> return BeamDecoder(model, inputs, max_steps, 1).generated(inputs, max_steps, lambda logits: logits.argmax(dim=1))",
        "paddle/loss.py MaskedSoftmaxCELoss._step_losses: pred = pred - pred.detach().max(axis=-1, keepdim=True) -> pred = pred - pred.detach().max(axis=1, keepdim=True)",
        "paddle/decoding.py BeamDecoder.step.top: total = (logits - best[:, :1]).exp().sum(axis=-1, keepdim=True).log() -> total = (logits - best[:, :1]).exp().sum(axis=1, keepdim=True).log()",
        "mxnet/decoding.py greedy: return BeamDecoder(model, inputs, max_steps, 1).generated(inputs, max_steps, lambda logits: logits.argmax(axis=-1)) -> return BeamDecoder(model, inputs, max_steps, 1).generated(inputs, max_steps, lambda logits: logits.argmax(axis=1))",
        "mxnet/model.py Pooler.__init__: self.dense = nn.Dense(num_hiddens, in_units=num_hiddens, flatten=False) -> self.dense = nn.Dense(num_hiddens, in_units=num_hiddens, flatten=True)",
        "numpy/decoding.py _log_softmax: return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)) -> return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))",
        "numpy/decoding.py _log_sum: highest = scores.max(axis=-1, keepdims=True) -> highest = scores.max(axis=1, keepdims=True)",
        "numpy/decoding.py _log_sum: return np.asarray(highest + np.log(np.exp(scores - highest).sum(axis=-1, keepdims=True, dtype=np.float64))) -> return np.asarray(highest + np.log(np.exp(scores - highest).sum(axis=1, keepdims=True, dtype=np.float64)))",
    ),
    "of that shape only the batch, the last two sizes and the number of axes are read": (
        "torch/decoder.py DecoderBlock._cross: return keys, values, length_mask(valid_lens, (keys.shape[0], 1, X.shape[1], keys.shape[2]), X) -> return keys, values, length_mask(valid_lens, (keys.shape[0], 0, X.shape[1], keys.shape[2]), X)",
        "jax/encoder.py TransformerEncoder.__call__: mask = None if valid_lens is None else length_mask(valid_lens, (B, 1, S, S), X) -> mask = None if valid_lens is None else length_mask(valid_lens, (B, 0, S, S), X)",
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
    "the table is a tuple of one": (
        "paddle/embedding.py PositionalEncoding.P: return self.table[0] -> return self.table[(-1)]",
    ),
    "the exact derivative is given beside it, so that what is cut has no gradient": (
        "mxnet/feed_forward.py _gelu: Y = X * cumulative -> Y = X * detached(cumulative)",
        "mxnet/feed_forward.py _gelu: cumulative = (npx.erf(X * math.sqrt(0.5)) + 1.0) * 0.5 -> cumulative = (detached(npx.erf(X * math.sqrt(0.5))) + 1.0) * 0.5",
    ),
    "the framework casts it itself": (
        "mxnet/loss.py _log_probability: there = npx.cast(chosen > np.finfo(chosen.dtype).tiny ** 0.5, dtype=pred.dtype) -> there = (chosen > np.finfo(chosen.dtype).tiny ** 0.5)",
        "tensorflow/decoding.py suppress: return tf.where(np.isin(np.arange(logits.shape[-1]), token_ids), tf.cast(-np.inf, logits.dtype), logits) -> return tf.where(np.isin(np.arange(logits.shape[-1]), token_ids), (-np.inf), logits)",
        "mxnet/model.py _TiedDense.forward: padding = npx.cast(mnp.arange(self._units, ctx=weight.ctx) == self.padding_id, dtype=weight.dtype).reshape(-1, 1) -> padding = (mnp.arange(self._units, ctx=weight.ctx) == self.padding_id).reshape(-1, 1)",
        "mxnet/model.py TiedDense.forward: padding = npx.cast(mnp.arange(self._units, ctx=weight.ctx) == self.padding_id, dtype=weight.dtype).reshape(-1, 1) -> padding = (mnp.arange(self._units, ctx=weight.ctx) == self.padding_id).reshape(-1, 1)",
        "mxnet/embedding.py SequenceEmbedding.embed: padding = mnp.expand_dims(npx.cast(tokens == self.padding_id, dtype=X.dtype), axis=-1) -> padding = mnp.expand_dims((tokens == self.padding_id), axis=-1)",
        'paddle/loss.py MaskedSoftmaxCELoss.forward: return sums / (T if self.normalization == "steps" else valid_len.sum().clip(min=1).astype(pred.dtype)) -> return sums / (T if self.normalization == "steps" else valid_len.sum().clip(min=1))',
        "mxnet/normalization.py LayerNorm._standardize: positive = npx.cast(variance > 0, dtype=X.dtype) -> positive = (variance > 0)",
    ),
    "the array reaches the device another way, and is the same there": (
        "mxnet/weights.py to_device: if array.dtype == np.bool_ or array.ndim == 0 or array.size == 0: -> if array.dtype == np.bool_ or array.ndim == 0 or array.size == (-1):",
        "mxnet/weights.py to_device: if array.dtype == np.bool_ or array.ndim == 0 or array.size == 0: -> if array.dtype == np.bool_ and array.ndim == 0 or array.size == 0:",
        "mxnet/weights.py to_device: if array.dtype == np.bool_ or array.ndim == 0 or array.size == 0: -> if ((array.ndim == 0) or (array.size == 0)):",
        "mxnet/weights.py to_device: if array.dtype == np.bool_ or array.ndim == 0 or array.size == 0: -> if ((array.dtype == np.bool_) or (array.ndim == 0)):",
        "mxnet/weights.py to_device: if array.dtype == np.bool_ or array.ndim == 0 or array.size == 0: -> if array.dtype == np.bool_ or array.ndim == 0 or array.size != 0:",
        "mxnet/weights.py to_device: return mx.nd.from_numpy(np.ascontiguousarray(array), zero_copy=True).as_np_ndarray().as_in_ctx(context) -> return mx.nd.from_numpy(np.ascontiguousarray(array), zero_copy=False).as_np_ndarray().as_in_ctx(context)",
    ),
    "its gradient is cut already": (
        "mxnet/embedding.py SequenceEmbedding.embed: held = X * padding -> held = detached(X * padding)",
        "mxnet/model.py TiedDense.forward: held = weight * padding -> held = detached(weight * padding)",
        "mxnet/embedding.py SequenceEmbedding.embed: held = X * padding -> held = detached(X) * padding",
        "mxnet/model.py TiedDense.forward: weight = weight * (1.0 - padding) + held -> weight = weight * (1.0 - padding) + detached(held)",
    ),
    "the number is a limit of the framework, and one less is within it": (
        "mxnet/trainer.py module: MOST_ARRAYS = 60 -> MOST_ARRAYS = 59",
    ),
    "the table is made anew as soon as an input of another dtype comes": (
        'torch/rotary.py RotaryEncoding.__init__: self.table = _table(*self.sizes, torch.float64, torch.device("cpu")) -> self.table = _table(*self.sizes, torch.float32, torch.device("cpu"))',
        'mxnet/embedding.py PositionalEncoding.__init__: self.P = mnp.array(sinusoid_table(max_len, num_hiddens, layout), dtype="float32") -> self.P = mnp.array(sinusoid_table(max_len, num_hiddens, layout), dtype="float16")',
    ),
    "the argument is for what this class never calls": (
        "mxnet/loss.py MaskedSoftmaxCELoss.__init__: super().__init__(weight=None, batch_axis=0) -> super().__init__(weight=None, batch_axis=(-1))",
    ),
    "the gradient has no share in what fills the masked steps": (
        "numpy/backend.py module: attention.sequence_mask: lambda gradient, output, X, valid_len, value=0: attention.sequence_mask(gradient, valid_len), -> attention.sequence_mask: lambda gradient, output, X, valid_len, value=1: attention.sequence_mask(gradient, valid_len),",
        "numpy/backend.py module: attention.sequence_mask: lambda gradient, output, X, valid_len, value=0: attention.sequence_mask(gradient, valid_len), -> attention.sequence_mask: lambda gradient, output, X, valid_len, value=(-1): attention.sequence_mask(gradient, valid_len),",
    ),
    "how an array lies in memory is not what it holds": (
        "numpy/trainer.py _keep_freed_memory: np.empty(31 * 2**20, np.uint8) -> np.empty((31), np.uint8)",
        'numpy/weights.py Parameter.to_numpy: return np.array(tensor, order="C") -> return np.array(tensor)',
    ),
    "a product's factors in the other order": (
        'numpy/normalization.py LayerNorm.backward: along = np.einsum("nd,nd->n", G, Z)[:, None] -> along = np.einsum("nd,nd->n", Z, G)[:, None]',
    ),
    "the caches of all blocks hold the same steps, or none is there": (
        "jax/decoder.py TransformerDecoder.__call__: own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention -> own = KeyValueCache() if state[2][(-1)] is None else state[2][0].self_attention",
        "mxnet/decoder.py TransformerDecoder._hidden_states: own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention -> own = KeyValueCache() if state[2][0] is None else state[2][(-1)].self_attention",
        "mxnet/decoder.py TransformerDecoder._hidden_states: own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention -> own = KeyValueCache() if state[2][(-1)] is None else state[2][0].self_attention",
        "numpy/decoder.py TransformerDecoder._hidden_states: own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention -> own = KeyValueCache() if state[2][(-1)] is None else state[2][0].self_attention",
        "paddle/decoder.py TransformerDecoder._hidden_states: own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention -> own = KeyValueCache() if state[2][(-1)] is None else state[2][0].self_attention",
        "paddle/decoder.py TransformerDecoder._hidden_states: own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention -> own = KeyValueCache() if state[2][0] is None else state[2][(-1)].self_attention",
        "numpy/decoder.py TransformerDecoder._hidden_states: own = KeyValueCache() if state[2][0] is None else state[2][0].self_attention -> own = KeyValueCache() if state[2][0] is None else state[2][(-1)].self_attention",
    ),
    "a vector made flat is what it was": (
        "paddle/normalization.py LayerNorm._fused: if weight is not None and len(self.norm_shape) > 1: -> if weight is not None and len(self.norm_shape) >= 1:",
    ),
    "it is a gradient itself, of which no gradient is taken": (
        "mxnet/feed_forward.py _gelu: slope = cumulative + X * density -> slope = cumulative + detached(X) * density",
        "torch/model.py _without_row: return gradient.index_fill(0, torch.tensor(row, device=gradient.device), 0.0) -> return detached(gradient.index_fill(0, torch.tensor(row, device=gradient.device), 0.0))",
        "paddle/embedding.py _without_row.clear: return gradient * kept -> return detached(gradient) * kept",
    ),
    "places in a vocabulary are whole numbers below 2^24 in float32 too": (
        'mxnet/decoding.py _lowest: return npx.topk(mnp.where(tied, -ids, mnp.full_like(ids, -size)), k=k, dtype="int32").asnumpy().astype(np.int64) -> return npx.topk(mnp.where(tied, -ids, mnp.full_like(ids, -size)), k=k).asnumpy().astype(np.int64)',
    ),
    "the value is the default that stands there": (
        "jax/decoding.py _beam_step: return jnp.take_along_axis(log_probs, ids, axis=-1), ids, weights, state -> return jnp.take_along_axis(log_probs, ids), ids, weights, state",
        "jax/feed_forward.py _gelu_tanh: return jax.nn.gelu(X, approximate=True) -> return jax.nn.gelu(X)",
        "mxnet/decoding.py drawn: chosen = npx.pick(falling, place, axis=-1)[:, None] -> chosen = npx.pick(falling, place)[:, None]",
        "mxnet/weights.py to_device: return mnp.array(array, dtype=array.dtype, ctx=context) # what from_numpy does not take -> return mnp.array(array, ctx=context) # what from_numpy does not take",
        "paddle/attention.py _softmax_where: return F.softmax(scores, axis=-1) -> return F.softmax(scores)",
        "jax/loss.py MaskedSoftmaxCELoss.__call__: step_losses = -jnp.take_along_axis(log_probs, label[..., None], axis=-1)[..., 0] -> step_losses = -jnp.take_along_axis(log_probs, label[..., None])[..., 0]",
        "jax/attention.py _softmax_where: return jax.nn.softmax(scores, axis=-1) -> return jax.nn.softmax(scores)",
        "mxnet/decoding.py BeamDecoder.__init__: with autograd.pause(train_mode=False): -> with autograd.pause():",
        "numpy/framework.py Embedding.backward: sums = np.add.reduceat(gradient.reshape(len(ids), -1)[order], starts, axis=0) -> sums = np.add.reduceat(gradient.reshape(len(ids), -1)[order], starts)",
        "torch/normalization.py LayerNorm.forward: deviation, mean = torch.std_mean(X, dim=axes, correction=1, keepdim=True) -> deviation, mean = torch.std_mean(X, dim=axes, keepdim=True)",
    ),
    "every parameter of a model that has a loss takes part in it": (
        "torch/backend.py TorchBackend.run_loss_and_gradients: return total.item(), by_name(parameters, torch.autograd.grad(total, tensors, materialize_grads=True)) -> return total.item(), by_name(parameters, torch.autograd.grad(total, tensors, materialize_grads=False))",
    ),
    "a parameter made of a tensor has no share in that tensor's history": (
        "torch/two_bytes.py at_least_float32: return nn.Parameter(parameter.detach().float()) if low else parameter -> return nn.Parameter(parameter.float()) if low else parameter",
    ),
    "a table of constants has no gradient": (
        "mxnet/attention.py _past: keep = mnp.array(causal_mask(T, S), dtype=dtype, ctx=context) -> keep = detached(mnp.array(causal_mask(T, S), dtype=dtype, ctx=context))",
        "mxnet/embedding.py PositionalEncoding.forward: P = mnp.broadcast_to(P, X.shape) # the backward of a broadcasting sum takes ten times as long -> P = detached(mnp.broadcast_to(P, X.shape)) # the backward of a broadcasting sum takes ten times as long",
        "mxnet/normalization.py LayerNorm._standardize: return X / (mnp.sqrt(variance + (1.0 - positive)) * positive + self.eps) -> return X / (mnp.sqrt(variance + (1.0 - positive)) * detached(positive) + self.eps)",
    ),
    "the framework drops nothing outside of training, and no mask is given there": (
        "mxnet/dropout.py Dropout.forward: if self._rate == 0.0 or not autograd.is_training(): -> if ((self._rate == 0.0)):",
    ),
    "compiled functions are in evaluation mode by themselves, and every other call says which mode": (
        "jax/backend.py JAXBackend._running: def _running(self, layer: Any, training: bool = False) -> Iterator[None]: -> def _running(self, layer: Any, training: bool = True) -> Iterator[None]:",
    ),
    "Keras hands the mode on to the layers within": (
        "tensorflow/decoder.py DecoderBlock.call: X = self.addnorm2(X, Y, training=training) -> X = self.addnorm2(X, Y)",
        "tensorflow/normalization.py AddNorm.call: Z = X + self.dropout(Y, training=training) -> Z = X + self.dropout(Y)",
    ),
    "all parameters have one dtype": (
        "tensorflow/trainer.py TensorFlowTrainer._dtype: return next(iter(self.optimizer.slots.values()))[0].dtype -> return next(iter(self.optimizer.slots.values()))[(-1)].dtype",
    ),
    "all three are the width of the one input": (
        "numpy/encoder.py EncoderBlock.__init__: key_size, query_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias, **chosen.heads -> key_size, query_size, num_hiddens, value_size, num_heads, chosen.attention_dropout, use_bias, **chosen.heads",
        "paddle/encoder.py EncoderBlock.__init__: key_size, query_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias, **chosen.heads -> query_size, key_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias, **chosen.heads",
        "tensorflow/encoder.py EncoderBlock.__init__: key_size, query_size, value_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias, dtype=dtype -> key_size, value_size, query_size, num_hiddens, num_heads, chosen.attention_dropout, use_bias, dtype=dtype",
    ),
    "of that index only the shape of what it finds is read": (
        "jax/normalization.py _deviation: count = Z[(0,) * (Z.ndim - len(axes))].size -> count = Z[(1,) * (Z.ndim - len(axes))].size",
    ),
    "there is one column, and JAX takes the last one for what lies beyond": (
        "jax/decoding.py _greedy.advance: return step + 1, tokens, finished | (tokens[:, 0] == config.eos_id), generated, state -> return step + 1, tokens, finished | (tokens[:, 1] == config.eos_id), generated, state",
    ),
    "it is taken in a compiled decoding loop alone, which has no gradient": (
        "jax/embedding.py _rows: return jax.lax.dynamic_slice_in_dim(jnp.asarray(table, dtype), start, count) -> return detached(jax.lax.dynamic_slice_in_dim(jnp.asarray(table, dtype), start, count))",
    ),
    "scores of queries and keys that are turned alike depend on the differences of their positions alone": (
        "numpy/rotary.py RotaryEncoding.forward: def forward(self, X: np.ndarray, offset: int = 0) -> np.ndarray: -> def forward(self, X: np.ndarray, offset: int = 1) -> np.ndarray:",
    ),
    "of two dtypes, axes or lists either may be named first": (
        "jax/loss.py MaskedSoftmaxCELoss.__call__: log_probs = jax.nn.log_softmax(pred.astype(jnp.promote_types(pred.dtype, jnp.float32))) -> log_probs = jax.nn.log_softmax(pred.astype(jnp.promote_types(jnp.float32, pred.dtype)))",
        "torch/rotary.py RotaryEncoding._match: dtype = torch.promote_types(X.dtype, torch.float32) -> dtype = torch.promote_types(torch.float32, X.dtype)",
        "torch/shortcuts/prepared_layers.py heads: return X.view(B, -1, H, X.shape[-1] // H).transpose(1, 2) -> return X.view(B, -1, H, X.shape[-1] // H).transpose(2, 1)",
        "numpy/shortcuts/prepared_layers.py _attend: return product(len(X), layer.W_o)(output.swapaxes(1, 2).reshape(len(X), -1)) -> return product(len(X), layer.W_o)(output.swapaxes(2, 1).reshape(len(X), -1))",
        "jax/shortcuts/compiled.py _Known.__init__: self.kinds = set(map(type, held)) if all(map(operator.is_, values, held)) else None -> self.kinds = set(map(type, held)) if all(map(operator.is_, held, values)) else None",
    ),
    "an operation that has a backward of its own is not differentiated within": (
        "torch/loss.py _CrossEntropy.forward: log_probs = logits.log_softmax(-1) -> log_probs = detached(logits.log_softmax(-1))",
    ),
    "a gradient is as large as what it is of": (
        "mxnet/trainer.py MXNetTrainer._apply: small = [pair for pair in pairs if pair[0].size < LARGE] -> small = [pair for pair in pairs if pair[1].size < LARGE]",
    ),
    "moving statistics are what nothing here reads": (
        "mxnet/normalization.py _trained: Y = npx.batch_norm(X.reshape(1, rows, D), scale, zeros, *moving, eps=eps, momentum=1.0, fix_gamma=False, axis=1) -> Y = npx.batch_norm(X.reshape(1, rows, D), scale, zeros, *moving, eps=eps, fix_gamma=False, axis=1)",
        "mxnet/normalization.py _trained: Y = npx.batch_norm(X.reshape(1, rows, D), scale, zeros, *moving, eps=eps, momentum=1.0, fix_gamma=False, axis=1) -> Y = npx.batch_norm(X.reshape(1, rows, D), scale, zeros, *moving, eps=eps, momentum=2.0, fix_gamma=False, axis=1)",
    ),
    "how many threads share the work is all that differs": (
        "torch/decoding.py BeamDecoder._look: self.positions = beam * read.numel() -> self.positions = (beam)",
        "mxnet/decoding.py BeamDecoder._all_logits: suit(self.context, len(tokens), self.model.config.num_hiddens) -> pass",
        "mxnet/trainer.py MXNetTrainer._run_batch: suit(self.context, share.batch.target_in.size, self.model.config.num_hiddens) -> suit(self.context, self.model.config.num_hiddens, share.batch.target_in.size)",
    ),
    "a product with 0 or 1 is rounded once, in whichever format it is made": (
        "mxnet/dropout.py Dropout.factors: np.multiply(self.keep.reshape(-1), 1.0 / (1.0 - self._rate), out=into, dtype=into.dtype) -> np.multiply(self.keep.reshape(-1), 1.0 / (1.0 - self._rate), out=into)",
    ),
    "what decays there is zero": (
        "mxnet/optimizers.py _Optimizer._fused_adam: mx.nd.sgd_mom_update(nothing, change, v, lr=beta2 - 1.0, momentum=beta2, wd=0.0, out=change) -> mx.nd.sgd_mom_update(nothing, change, v, lr=beta2 - 1.0, momentum=beta2, wd=1.0, out=change)",
        "mxnet/optimizers.py _Optimizer._fused_adam: mx.nd.sgd_mom_update(nothing, gradient, m, lr=beta1 - 1.0, momentum=beta1, wd=0.0, out=change) -> mx.nd.sgd_mom_update(nothing, gradient, m, lr=beta1 - 1.0, momentum=beta1, wd=1.0, out=change)",
    ),
    "one seed's numbers are as good as another's": (
        "paddle/decoding.py uniforms: paddle.seed(high << 31 | low) -> paddle.seed(high << 32 | low)",
    ),
    "there is one of them, both the first and the last": (
        "torch/shortcuts/prepared_layers.py product: bias = (biases[0] if len(biases) == 1 else torch.cat(biases)) if biases else None -> bias = (biases[(-1)] if len(biases) == 1 else torch.cat(biases)) if biases else None",
        "numpy/loss.py MaskedSoftmaxCELoss.forward: step_losses = np.log(totals)[:, 0] - (1.0 - self.label_smoothing) * rows[places] -> step_losses = np.log(totals)[:, (-1)] - (1.0 - self.label_smoothing) * rows[places]",
    ),
    "one random number in 2^32 is the limit itself": (
        "numpy/dropout.py Dropout._kept: return (bits < np.uint32((1.0 - self.p) * 2.0**32)).reshape(shape) -> return (bits <= np.uint32((1.0 - self.p) * 2.0**32)).reshape(shape)",
    ),
    "of a row of zeros the eight bits are zeros, whatever they are divided by": (
        "torch/shortcuts/int8.py Int8Linear.__init__: scales = weight.abs().amax(dim=1).clamp(min=torch.finfo(weight.dtype).tiny).double() / LARGEST -> scales = weight.abs().amax(dim=1).double() / LARGEST",
    ),
    "heads of three axes have as many keys as queries, and grouping does nothing to them": (
        "torch/attention.py DotProductAttention.forward: few = True if queries.dim() == 4 and queries.shape[1] != keys.shape[1] else False # noqa: SIM210 -> few = True if ((queries.shape[1] != keys.shape[1])) else False # noqa: SIM210",
    ),
    "of four axes the last but one is number 2": ("jax/rotary.py RotaryEncoding.__call__: T = X.shape[-2] -> T = X.shape[2]",),
    "each number of the format takes as many whole words, divided by 3 or by 4": (
        "jax/backend.py JAXBackend._place.numbers: words: Any = np.zeros(leaf.dtype.itemsize // 4, np.uint32) -> words: Any = np.zeros(leaf.dtype.itemsize // 3, np.uint32)",
    ),
    "a mask that is there hides what comes later too": (
        "jax/decoder.py DecoderBlock.__call__: causal = causal and mask is None -> causal = ((causal))",
    ),
    "a layer within is an attribute of the one that holds it, and so among what is found": (
        "mxnet/shortcuts/calls.py settings_within: return layers[1:] + found -> return (found)",
    ),
    "how many inputs there are the framework finds out": (
        "mxnet/model.py TiedDense.__init__: super().__init__(vocab_size, in_units=num_hiddens, use_bias=use_bias, flatten=False, params=embedding.params) -> super().__init__(vocab_size, use_bias=use_bias, flatten=False, params=embedding.params)",
    ),
    "what is remembered of calls only takes memory": ("mxnet/shortcuts/calls.py compiled_call: calls.clear() -> pass",),
}
EQUIVALENT = {key: reason for reason, keys in REASONS.items() for key in keys}
