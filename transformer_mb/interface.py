"""The contracts of the layers: what each takes, returns and raises, with shapes.

A backend's layers are native objects of its framework; these protocols say what they share. Shape letters:
B batch, T query steps, S key steps, H heads, D num_hiddens, F ffn_num_hiddens, V vocabulary. The contract of
a backend as a whole is in ``backend.py``, that of its trainer in ``trainer.py``.
"""

from __future__ import annotations

from typing import Any, Protocol

Array = Any  # the framework's own array or tensor

LAYERS = (
    "LayerNorm",
    "AddNorm",
    "PositionWiseFFN",
    "DotProductAttention",
    "MultiHeadAttention",
    "PositionalEncoding",
    "EncoderBlock",
    "DecoderBlock",
    "TransformerEncoder",
    "TransformerDecoder",
    "EncoderDecoder",
    "MaskedSoftmaxCELoss",
)
FUNCTIONS = ("sequence_mask", "masked_softmax", "transpose_qkv", "transpose_output")


class SequenceMask(Protocol):
    """``sequence_mask(X, valid_len, value=0)``: a copy of X [B, S, ...] with ``value`` at steps >= valid_len [B]."""

    def __call__(self, X: Array, valid_len: Array, value: float = 0) -> Array: ...


class MaskedSoftmax(Protocol):
    """Softmax over the last axis of X [B, T, S] or [B, H, T, S], with weight only where attending is allowed.

    ``valid_lens`` is None, [B] or [B, T]; ``mask`` is boolean, True = may attend, broadcastable to X. They combine
    by AND. A row that may attend to nothing gets zeros (and its gradient is zero), never NaN.
    """

    def __call__(self, X: Array, valid_lens: Array | None = None, mask: Array | None = None) -> Array: ...


class TransposeHeads(Protocol):
    """``transpose_qkv``: [B, T, D] -> [B, H, T, D/H]; ``transpose_output`` reverses it.

    D2L folds B and H into one axis; here they stay apart, so that masks broadcast over heads and fused kernels apply.
    """

    def __call__(self, X: Array, num_heads: int) -> Array: ...


class LayerNorm(Protocol):
    """Layer normalisation over the last ``len(norm_shape)`` axes (Ba et al. 2016).

    Args:
        norm_shape: trailing sizes (an int or a sequence), as in PyTorch; never axes as in Keras.
        eps: inside the root for kind ``layer_norm``; added to the deviation for ``std_norm``.
        kind: ``layer_norm`` (biased variance) or ``std_norm`` (unbiased standard deviation).
        affine: whether there are ``weight`` and ``bias``, each of shape ``norm_shape``.
    Raises: ShapeError when X does not end in ``norm_shape``.
    """

    def __init__(self, norm_shape: Any, *, eps: float = 1e-5, kind: str = "layer_norm", affine: bool = True): ...
    def forward(self, X: Array) -> Array: ...


class AddNorm(Protocol):
    """Residual connection, dropout and layer normalisation around a sublayer (D2L 10.7.3).

    ``post``: forward gives ln(X + dropout(Y)) and the sublayer reads X itself. ``pre``: forward gives
    X + dropout(Y) and the sublayer reads ln(X). ``sublayer_input`` gives what the sublayer reads, so that a block
    is written once for both orders.

    Raises: ShapeError when X and Y differ in shape.
    """

    def __init__(
        self,
        norm_shape: Any,
        dropout: float,
        *,
        norm_position: str = "post",
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
    ): ...
    def sublayer_input(self, X: Array) -> Array: ...
    def forward(self, X: Array, Y: Array) -> Array: ...


class PositionWiseFFN(Protocol):
    """Position-wise feed-forward network (Vaswani et al. 2017, section 3.3): dense2(dropout(activation(dense1(X)))).

    X [B, T, ffn_num_input] -> [B, T, ffn_num_outputs].
    """

    def __init__(
        self,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        ffn_num_outputs: int,
        *,
        activation: str = "relu",
        dropout: float = 0.0,
        use_bias: bool = True,
    ): ...
    def forward(self, X: Array) -> Array: ...


class DotProductAttention(Protocol):
    """softmax(Q K^T / sqrt(d)) V (Vaswani et al. 2017, section 3.2.1), with dropout on the weights.

    Args:
        queries: [B, T, d] or [B, H, T, d]; keys, values: the same with S steps.
        valid_lens: None, [B] or [B, T] int: how many leading keys each query may attend to.
        mask: boolean, True = may attend, broadcastable to [B, H, T, S].
        causal: query t may attend to keys up to t + (S - T), S - T being what a cache already holds.
        need_weights: keep the weights (before dropout) in ``attention_weights``, [B, H, T, S] (or [B, T, S]);
            else ``attention_weights`` is None and a fused kernel may be used.
    Returns: the shape of queries. A fully masked row gives zeros.
    """

    def __init__(self, dropout: float): ...
    def forward(
        self,
        queries: Array,
        keys: Array,
        values: Array,
        valid_lens: Array | None = None,
        *,
        mask: Array | None = None,
        causal: bool = False,
        need_weights: bool = False,
    ) -> Array: ...


class MultiHeadAttention(Protocol):
    """Multi-head attention (Vaswani et al. 2017, section 3.2.2).

    Args:
        queries: [B, T, query_size]; keys: [B, S, key_size]; values: [B, S, value_size].
        valid_lens, mask, causal, need_weights: as in DotProductAttention, the same for every head.
    Returns: [B, T, num_hiddens], the dtype of queries. A fully masked row gives W_o's bias, or zeros without one.
    Raises: ShapeError, naming the expected and the received shape; ConfigError when the heads do not divide D.

    ``project_keys_values(keys, values)`` gives the projected [B, H, S, D/H] pair that a cache holds, and
    ``attend(queries, projected_keys, projected_values, ...)`` the rest of ``forward``.
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
    ): ...
    def project_keys_values(self, keys: Array, values: Array) -> tuple[Array, Array]: ...
    def attend(self, queries: Array, keys: Array, values: Array, valid_lens: Array | None = None, **options: Any) -> Array: ...
    def forward(self, queries: Array, keys: Array, values: Array, valid_lens: Array | None = None, **options: Any) -> Array: ...


class PositionalEncoding(Protocol):
    """dropout(X + P): sinusoids added to X [B, T, D], the first step being position ``offset`` (D2L 10.6.3).

    Raises: TokenError when offset + T exceeds ``max_len``.
    """

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000, *, layout: str = "interleaved"): ...
    def forward(self, X: Array, offset: Any = 0) -> Array: ...


class EncoderBlock(Protocol):
    """Self-attention, then the FFN, each inside AddNorm. X [B, T, D], valid_lens None, [B] or [B, T] -> [B, T, D].

    The keyword-only arguments are those of ``TransformerConfig.block_options``; ``from_config(config)`` builds it.
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: Any,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
        *,
        norm_position: str = "post",
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
        activation: str = "relu",
        ffn_bias: bool = True,
        ffn_dropout: float = 0.0,
        attention_dropout: float | None = None,
    ): ...
    def forward(
        self, X: Array, valid_lens: Array | None = None, *, mask: Array | None = None, need_weights: bool = False
    ) -> Array: ...


class DecoderBlock(Protocol):
    """Causal self-attention, cross-attention, FFN, each inside AddNorm; arguments as EncoderBlock's, with its index i.

    ``forward(X, state)`` returns ``(Y, state)``. The state is D2L's list ``[enc_outputs, enc_valid_lens, caches]``;
    ``caches[i]`` is None at the start of a sequence, afterwards this block's projected keys and values, so that a
    sequence may be fed whole or piece by piece with the same result. The given state is left as it was.
    Without ``enc_outputs`` (None), or with ``cross_attention=False``, the cross-attention sublayer is skipped.
    """

    def forward(self, X: Array, state: list[Any], *, need_weights: bool = False) -> tuple[Array, list[Any]]: ...


class TransformerEncoder(Protocol):
    """Embeddings times sqrt(D) plus positions, then the blocks (D2L 10.7.4). X [B, S] int -> [B, S, D].

    ``attention_weights``: one [B, H, S, S] a block after a forward with ``need_weights=True``, else None each.
    """

    def forward(
        self,
        X: Array,
        valid_lens: Array | None = None,
        *,
        token_types: Array | None = None,
        need_weights: bool = False,
    ) -> Array: ...


class TransformerDecoder(Protocol):
    """Embeddings, positions, causal blocks and the output projection (D2L 10.7.5).

    ``init_state(enc_outputs, enc_valid_lens, max_steps=None)`` starts a sequence; with ``max_steps`` the caches are
    allocated once for so many steps. ``forward(X, state)``: X [B, T] int -> (logits [B, T, V], state); the position
    of the first step is the number of steps that the state already holds. ``attention_weights``: the lists of
    self-attention and cross-attention weights of the last forward with ``need_weights=True``.
    """

    def init_state(
        self, enc_outputs: Array, enc_valid_lens: Array | None = None, max_steps: int | None = None
    ) -> list[Any]: ...
    def forward(self, X: Array, state: list[Any], *, need_weights: bool = False) -> tuple[Array, list[Any]]: ...


class EncoderDecoder(Protocol):
    """An encoder and a decoder; either may be None (architectures ``encoder`` and ``decoder``).

    ``forward(enc_X, dec_X, enc_valid_lens)`` -> (logits, state) as the decoder gives them, or the encoder's
    [B, S, D] when there is no decoder. ``pooler`` is BERT's tanh(dense(first position)). ``config`` is the
    TransformerConfig of a model made by ``from_config``.
    """

    def forward(self, enc_X: Array, dec_X: Array, enc_valid_lens: Array | None = None) -> Any: ...


class MaskedSoftmaxCELoss(Protocol):
    """Cross-entropy masked by valid length (D2L 9.7.3): pred [B, T, V], label [B, T], valid_len [B] -> [B].

    With p the softmax of pred and q = (1 - label_smoothing) * onehot(label) + label_smoothing / V, a step's loss is
    -sum(q log p); steps >= valid_len count nothing. normalization ``steps`` divides each sequence's sum by T (D2L);
    ``tokens`` divides by the batch's number of valid tokens, so that the sum over the batch is the mean per token.
    """

    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps"): ...
    def forward(self, pred: Array, label: Array, valid_len: Array) -> Array: ...
