"""Mistakes that no cell sees, each with what would see it. A line here is a hole that is known."""

# ruff: noqa: E501

from __future__ import annotations

REASONS: dict[str, tuple[str, ...]] = {
    "Keras' own masks and its calls with one list are in no cell; tests/native/test_tensorflow*.py hold them": (
        "tensorflow/model.py EncoderDecoder.call: if self.encoder is None and dec_X is None: -> if self.encoder is not None and dec_X is None:",
        "tensorflow/encoder.py EncoderBlock.call: if mask is not None and mask.shape.rank == 2 and self.compute_mask(X, None) is not None: -> if mask is not None and mask.shape.rank == 3 and self.compute_mask(X, None) is not None:",
        "tensorflow/encoder.py EncoderBlock.call: if mask is not None and mask.shape.rank == 2 and self.compute_mask(X, None) is not None: -> if mask is not None and mask.shape.rank == 2 and self.compute_mask(X, None) is None:",
        "tensorflow/model.py EncoderDecoder._are_all_in_one: listed = isinstance(enc_X, (list, tuple)) and dec_X is None -> listed = isinstance(enc_X, (list, tuple)) or dec_X is None",
        "tensorflow/model.py EncoderDecoder._are_all_in_one: both = self.encoder is not None and self.decoder is not None -> both = self.encoder is not None and self.decoder is None",
    ),
    "cells give arrays, not lists; tests/native/test_tensorflow*.py hold those": (
        "tensorflow/loss.py MaskedSoftmaxCELoss.__init__: self._allow_non_tensor_positional_args = True # lists of labels and lengths -> self._allow_non_tensor_positional_args = False # lists of labels and lengths",
        "tensorflow/encoder.py EncoderBlock.__init__: self._allow_non_tensor_positional_args = True # lists of lengths -> self._allow_non_tensor_positional_args = False # lists of lengths",
    ),
    "what is refused is in no cell; tests/conformance/test_bad_*.py hold it": (
        "tensorflow/embedding.py _check_static: if first is not None and count is not None: -> if not (first is not None and count is not None):",
    ),
    "cells update once; two updates in a row would see it": (
        "tensorflow/trainer.py TensorFlowTrainer.update: self.step_count += 1 -> self.step_count -= 1",
    ),
    "parameters are found by their names, whether Keras would train them or not": (
        "tensorflow/decoder.py TransformerDecoder.__init__: trainable: bool = True, -> trainable: bool = False,",
    ),
    "a batch without any token is drawn with one row alone, and not by seeds 0 to 2": (
        'tensorflow/loss.py MaskedSoftmaxCELoss.call: divisor = T if self.normalization == "steps" else tf.maximum(tf.reduce_sum(valid_len), 1) -> divisor = T if self.normalization == "steps" else tf.maximum(tf.reduce_sum(valid_len), 0)',
    ),
    "no row is decoded to its last step: models are drawn until their hypotheses end before it; a drawn search that is cut would see it": (
        "tensorflow/decoding.py _greedy.unfinished: return (count < max_steps) & ~tf.reduce_all(finished) -> return (count < max_steps) | ~tf.reduce_all(finished)",
        "jax/decoding.py _greedy.unfinished: return (step < max_steps) & ~finished.all() -> return (step < max_steps) | ~finished.all()",
        "jax/decoding.py _greedy.unfinished: return (step < max_steps) & ~finished.all() -> return (~finished.all())",
    ),
    "the gradient of a deviation of exactly 0 is drawn, and not by seeds 0 to 2": (
        "tensorflow/normalization.py LayerNorm.call: varied = variance > 0.0 -> varied = variance >= 0.0",
    ),
    "scores of three axes have one key and several queries in no cell": (
        "tensorflow/attention.py _allowed: if causal and scores.shape[-2] != 1: -> if causal and scores.shape[2] != 1:",
    ),
    "the backend says which dtype; what a layer takes where nobody does is in no cell": (
        "jax/model.py EncoderDecoder.from_config: cls, config: TransformerConfig, *, param_dtype: Any = jnp.float32, rngs: nnx.Rngs | None = None -> cls, config: TransformerConfig, *, param_dtype: Any = jnp.bfloat16, rngs: nnx.Rngs | None = None",
        "jax/attention.py MultiHeadAttention.__init__: param_dtype: Any = jnp.float32, -> param_dtype: Any = jnp.bfloat16,",
        "jax/feed_forward.py PositionWiseFFN.__init__: param_dtype: Any = jnp.float32, -> param_dtype: Any = jnp.bfloat16,",
        "jax/encoder.py EncoderBlock.__init__: param_dtype: Any = jnp.float32, -> param_dtype: Any = jnp.float16,",
    ),
    "tokens are no cells in formats of two bytes; tests/conformance/test_ties.py holds them": (
        "jax/decoding.py _beam_step: logits = suppress(logits[:, 0].astype(jnp.promote_types(logits.dtype, jnp.float32)), model.config.suppress_ids) -> logits = suppress(logits[:, 0].astype(jnp.promote_types(logits.dtype, jnp.float16)), model.config.suppress_ids)",
        "jax/decoding.py _beam_step: logits = suppress(logits[:, 0].astype(jnp.promote_types(logits.dtype, jnp.float32)), model.config.suppress_ids) -> logits = suppress(logits[:, 0].astype(jnp.promote_types(logits.dtype, jnp.bfloat16)), model.config.suppress_ids)",
    ),
    "a layer's own initial weights are in no cell, which set them; they are the framework's affair": (
        "jax/embedding.py SequenceEmbedding.__init__: self.embedding.embedding[chosen.padding_id] = 0.0 -> self.embedding.embedding[chosen.padding_id] = 1.0",
        'jax/encoder.py EncoderBlock.__init__: created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": rngs or nnx.Rngs(0)} -> created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": ((nnx.Rngs(0)))}',
        'jax/model.py EncoderDecoder.from_config: created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": rngs or nnx.Rngs(0)} -> created: dict[str, Any] = {"param_dtype": param_dtype, "rngs": ((nnx.Rngs(0)))}',
    ),
    "a framework's own random dropout is in no cell, whose masks are injected; tests/conformance/test_dropout.py holds it": (
        "jax/attention.py DotProductAttention.__init__: self.dropout = Dropout(dropout, rngs=rngs) -> self.dropout = Dropout(dropout)",
        "jax/feed_forward.py PositionWiseFFN.__init__: self.dropout = Dropout(dropout, rngs=rngs) -> self.dropout = Dropout(dropout)",
        'torch/dropout.py Dropout.forward: if not self.training or self.p == 0.0 or (self.keep is None and X.device.type != "cpu"): -> if not self.training or self.p == 0.0 or (((self.keep is None))):',
    ),
    "in bfloat16 a norm may be as far off as NumPy with every step rounded, which is what this does": (
        "jax/normalization.py LayerNorm.__call__: Z = X.astype(jnp.promote_types(X.dtype, jnp.float32)) -> Z = X",
    ),
    "scores far from zero and of one sign are drawn by seeds 3, 4 and 5": (
        "numpy/framework.py softmax_shift: if scores.min() >= -safe and scores.max() <= safe: -> if scores.min() >= -safe and scores.max() >= safe:",
    ),
    "cells do not look at the attention weights that a call leaves behind without being asked for them": (
        "numpy/decoder.py TransformerDecoder.forward: def forward(self, X: np.ndarray, state: list[Any], *, need_weights: bool = False) -> tuple[np.ndarray, list[Any]]: -> def forward(self, X: np.ndarray, state: list[Any], *, need_weights: bool = True) -> tuple[np.ndarray, list[Any]]:",
        "torch/decoder.py TransformerDecoder.forward: def forward(self, X: Tensor, state: list[Any], *, need_weights: bool = False) -> tuple[Tensor, list[Any]]: -> def forward(self, X: Tensor, state: list[Any], *, need_weights: bool = True) -> tuple[Tensor, list[Any]]:",
        "paddle/decoder.py TransformerDecoder._hidden_states: def _hidden_states(self, X: Tensor, state: list[Any], need_weights: bool = False) -> tuple[Tensor, list[Any]]: -> def _hidden_states(self, X: Tensor, state: list[Any], need_weights: bool = True) -> tuple[Tensor, list[Any]]:",
    ),
    "below 0.47 the formula for larger numbers is off by a rounding of 1, to which GELU adds it; tests/reference/test_erf.py holds the last digit": (
        "numpy/activations.py erf: ranges = ((_near, size <= 0.46875), (_middle, (size > 0.46875) & (size <= 4.0)), (_far, (size > 4.0) & (size < ONE))) -> ranges = ((_near, size <= 0.46875), (_middle, (size > 0.46875) | (size <= 4.0)), (_far, (size > 4.0) & (size < ONE)))",
    ),
    "it differs on other devices than the tests have; `make parity` on a GPU would see it": (
        "torch/attention.py DotProductAttention.forward: rate = self.dropout.p if self.training else 0.0 -> rate = self.dropout.p if self.training else 1.0",
    ),
    "cells make a model for each request and do not look at what a call leaves behind; tests/conformance hold the mode": (
        "paddle/backend.py PaddleBackend._creation: paddle.set_default_dtype(before) -> pass",
    ),
    "nobody looks whether an array that was given is written into; tests/conformance hold that weights and inputs stay": (
        'mxnet/backend.py MXNetBackend._tensor: return weights.to_device(leaf.astype(self.dtype) if leaf.dtype.kind == "f" else leaf.copy(), self.device) -> return weights.to_device(leaf.astype(self.dtype) if leaf.dtype.kind == "f" else leaf, self.device)',
    ),
    "Keras' own keyword arguments, such as a name, are in no cell; tests/native/test_tensorflow_files.py holds them": (
        "tensorflow/loss.py MaskedSoftmaxCELoss.__init__: super().__init__(**kwargs) -> super().__init__()",
    ),
    "in float16 a product may be as far off as NumPy with every step rounded, which is what this does": (
        "jax/attention.py _product: dtype = jnp.promote_types(A.dtype, jnp.float32) -> dtype = jnp.promote_types(A.dtype, jnp.float16)",
    ),
    "which mode a fresh layer is in, no cell asks; tests/native/test_jax.py and tests/conformance/test_dropout.py hold it": (
        "jax/decoder.py DecoderBlock.__init__: self.deterministic = False # train() and eval() set it wherever it is, as in nnx.Dropout -> self.deterministic = True # train() and eval() set it wherever it is, as in nnx.Dropout",
    ),
    "cells decode with models that are in evaluation mode already; tests/conformance hold that decoding drops nothing": (
        "jax/decoding.py _greedy: model.eval() -> pass",
    ),
    "cells decode 24 rows at a time, more than there are tokens": (
        "mxnet/decoding.py BeamDecoder.step: return best_tokens(logits.shape[-1], count, partial(_top, logits), partial(_lowest, logits)) -> return best_tokens(logits.shape[-2], count, partial(_top, logits), partial(_lowest, logits))",
    ),
}
SURVIVORS = {key: reason for reason, keys in REASONS.items() for key in keys}
