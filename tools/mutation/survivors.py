"""Mistakes that no cell sees, each with what would see it. A line here is a hole that is known."""

# ruff: noqa: E501

from __future__ import annotations

REASONS: dict[str, tuple[str, ...]] = {
    "Keras' calls with one list are in no cell; tests/native/test_tensorflow_fit.py::test_a_decoder_or_an_encoder_alone_takes_its_inputs_in_one_argument holds them": (
        "tensorflow/model.py EncoderDecoder.call: if self.encoder is None and dec_X is None: -> if self.encoder is not None and dec_X is None:",
    ),
    "tokens are no cells in formats of two bytes; transformer_mb/conformance/test_ties.py::test_log_probabilities_have_float32s_digits_in_every_dtype holds their scores": (
        "jax/decoding.py _beam_step: logits = suppress(logits[:, 0].astype(jnp.promote_types(logits.dtype, jnp.float32)), model.config.suppress_ids) -> logits = suppress(logits[:, 0].astype(jnp.promote_types(logits.dtype, jnp.float16)), model.config.suppress_ids)",
    ),
    "a layer's own initial weights are in no cell, which set them; they are the framework's affair": (
        "jax/embedding.py SequenceEmbedding.__init__: self.embedding.embedding[chosen.padding_id] = 0.0 -> self.embedding.embedding[chosen.padding_id] = 1.0",
    ),
    "cells inject their masks; here torch draws its own, which drops as much and takes twice as long": (
        'torch/dropout.py Dropout.forward: if not self.training or self.p == 0.0 or (self.keep is None and X.device.type != "cpu"): -> if not self.training or self.p == 0.0 or (((self.keep is None))):',
    ),
    "in bfloat16 a norm may be as far off as NumPy with every step rounded, which is what this does": (
        "jax/normalization.py LayerNorm.__call__: Z = X.astype(jnp.promote_types(X.dtype, jnp.float32)) -> Z = X.astype(jnp.promote_types(X.dtype, jnp.bfloat16))",
        "jax/normalization.py LayerNorm.__call__: Z = X.astype(jnp.promote_types(X.dtype, jnp.float32)) -> Z = X",
    ),
    "cells do not look at the attention weights that a prompt leaves behind in a search": (
        "paddle/decoder.py TransformerDecoder._hidden_states: def _hidden_states(self, X: Tensor, state: list[Any], need_weights: bool = False) -> tuple[Tensor, list[Any]]: -> def _hidden_states(self, X: Tensor, state: list[Any], need_weights: bool = True) -> tuple[Tensor, list[Any]]:",
    ),
    "below 0.47 the formula for larger numbers is off by a rounding of 1, to which GELU adds it; tests/reference/test_erf.py::test_every_range holds the last digit": (
        "numpy/activations.py erf: ranges = ((_near, size <= 0.46875), (_middle, (size > 0.46875) & (size <= 4.0)), (_far, (size > 4.0) & (size < ONE))) -> ranges = ((_near, size <= 0.46875), (_middle, (size > 0.46875) | (size <= 4.0)), (_far, (size > 4.0) & (size < ONE)))",
    ),
    "it differs on other devices than the tests have; `make parity` on a GPU would see it": (
        "torch/attention.py DotProductAttention.forward: rate = self.dropout.p if self.training else 0.0 -> rate = self.dropout.p if self.training else 1.0",
    ),
    "cells make a model for each request and do not look at what a call leaves behind; tests/native/test_paddle.py::test_the_process_stays_as_it_was does": (
        "paddle/backend.py PaddleBackend._creation: paddle.set_default_dtype(before) -> pass",
    ),
    "no cell asks whether an array that was given can still be written into; transformer_mb/conformance/test_model.py::test_the_arrays_given_stay_the_callers does": (
        'mxnet/backend.py MXNetBackend._tensor: return weights.to_device(leaf.astype(self.dtype) if leaf.dtype.kind == "f" else leaf.copy(), self.device) -> return weights.to_device(leaf.astype(self.dtype) if leaf.dtype.kind == "f" else leaf, self.device)',
    ),
    "Keras' own keyword arguments, such as a name, are in no cell; tests/native/test_tensorflow.py::test_a_loss_takes_what_every_keras_layer_takes holds them": (
        "tensorflow/loss.py MaskedSoftmaxCELoss.__init__: super().__init__(**kwargs) -> super().__init__()",
    ),
    "in float16 a product may be as far off as NumPy with every step rounded, which is what this does": (
        "jax/attention.py _scores: dtype = jnp.promote_types(queries.dtype, jnp.float32) -> dtype = jnp.promote_types(queries.dtype, jnp.float16)",
        "jax/attention.py _product: dtype = jnp.promote_types(A.dtype, jnp.float32) -> dtype = jnp.promote_types(A.dtype, jnp.float16)",
    ),
    "which mode a new layer is in, no cell asks; tests/native/test_jax.py::test_a_new_block_is_in_training_mode does": (
        "jax/decoder.py DecoderBlock.__init__: self.deterministic = False # train() and eval() set it wherever it is, as in nnx.Dropout -> self.deterministic = True # train() and eval() set it wherever it is, as in nnx.Dropout",
    ),
    "whatever starts a search puts the model into evaluation mode already; the line is for those who call this function themselves": (
        "jax/decoding.py _greedy: model.eval() -> pass",
    ),
    "cells decode 24 rows at a time, more than there are tokens": (
        "mxnet/decoding.py BeamDecoder.step: return best_tokens(logits.shape[-1], count, partial(_top, logits), partial(_lowest, logits)) -> return best_tokens(logits.shape[-2], count, partial(_top, logits), partial(_lowest, logits))",
    ),
    "cells replace no attribute of a module between two calls; tests/native/test_jax.py::test_a_changed_attribute_is_seen does": (
        "jax/compiled.py split: if known is None or len(known[0]) != len(attributes) or not all(map(operator.is_, known[0], attributes)): -> if known is None or len(known[0]) != len(attributes) and not all(map(operator.is_, known[0], attributes)):",
    ),
    "cells set every weight; tests/native/test_numpy.py::test_what_a_new_layer_learns_is_in_float32 holds what it was before": (
        'numpy/normalization.py LayerNorm.__init__: self.bias = Parameter(np.zeros(self.norm_shape, np.float32)) if affine and kind != "rms_norm" else None -> self.bias = Parameter(np.zeros(self.norm_shape, np.float16)) if affine and kind != "rms_norm" else None',
    ),
    "cells have one trainer for all parameters; tests/native/test_numpy.py::test_some_of_the_parameters_that_an_optimizer_holds_can_be_anothers holds two": (
        "numpy/framework.py flatten: shared = buffer is not None and buffer.size == size and all(_buffer(p.value) is buffer for p in parameters) -> shared = ((buffer is not None) and (all(_buffer(p.value) is buffer for p in parameters)))",
    ),
    "on a processor sums are added in order; tests/native/test_torch_on_gpu.py::test_a_sum_that_ends_late_draws_the_last_token_that_was_kept holds what parallel ones do": (
        "torch/decoding.py drawn: place = torch.minimum(place, (weights > 0.0).sum(dim=-1) - 1) -> place = torch.minimum(place, (weights > 0.0).sum() - 1)",
    ),
    "in float16 a turn may be as far off as NumPy with every step rounded; tests/native/test_torch_rotary.py::test_a_turn_in_two_bytes_is_rounded_once holds the last digit": (
        "torch/rotary.py RotaryEncoding._match: dtype = torch.promote_types(X.dtype, torch.float32) -> dtype = torch.promote_types(X.dtype, torch.float16)",
    ),
    "on a processor sums are added in order; tests/native/test_paddle.py::test_a_sum_that_ends_late_draws_the_last_token_that_was_kept holds what parallel ones do": (
        'paddle/decoding.py drawn: place = paddle.minimum(place, (weights > 0.0).astype("int64").sum(axis=-1) - 1) -> place = paddle.minimum(place, (weights > 0.0).astype("int64").sum() - 1)',
    ),
    "on a processor sums are added in order; tests/native/test_mxnet.py::test_a_sum_that_ends_late_draws_the_last_token_that_was_kept holds what parallel ones do": (
        "mxnet/decoding.py drawn: place = mnp.minimum(place, _count(weights > 0.0) - 1) -> place = mnp.minimum(place, _count(weights > 0.0) - 0)",
    ),
    "tables lie where a layer's input does, and there is one place in cells; `make parity` on a GPU would see it": (
        "torch/embedding.py RelativeBias.scores: self._match(self.weight) -> pass",
        "torch/shortcuts/decoding_steps.py BlockSteps.__init__: self.rotary._match(weight) -> pass",
    ),
    "cells decode with no weights in eight bits; tests/native/test_torch_int8.py::test_it_decodes_whole_sentences holds them": (
        "torch/shortcuts/decoding_steps.py BlockSteps.__init__: joined = weight.numel() <= JOINED and not isinstance(own.W_q, Int8Linear) -> joined = weight.numel() <= JOINED or not isinstance(own.W_q, Int8Linear)",
    ),
    "NumPy's layers in eight bits lose less where attention multiplies in float32, and cells have no other kinds; tests/native/test_numpy_tools.py::test_a_layer_around_one_of_ours_is_obeyed_forward_and_backward holds these": (
        "numpy/projection.py Projection.__init__: if not self.alike or (step and len(self.rows) < len(layers[0].weight.value)): -> if ((step and len(self.rows) < len(layers[0].weight.value))):",
    ),
    "in float16 a turn may be as far off as NumPy with every step rounded, which is what this does": (
        "mxnet/rotary.py RotaryEncoding.forward: heads = X if X.dtype == dtype else npx.cast(X, dtype=dtype) -> heads = X if X.dtype == dtype else (X)",
    ),
    "no drawn number is so near the edge of a token that float32 tells them apart from float64": (
        'mxnet/decoding.py drawn: logits = logits if np.dtype(logits.dtype) == np.float64 else npx.cast(logits, dtype="float32") -> logits = logits if np.dtype(logits.dtype) == np.float32 else npx.cast(logits, dtype="float32")',
    ),
}
SURVIVORS = {key: reason for reason, keys in REASONS.items() for key in keys}
