"""Contracts of the functions and of the layers that blocks are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Unpack

from ..layer_options import AttentionOptions, HeadOptions

Array = Any  # the framework's own array or tensor
Shape = int | Sequence[int]


class SequenceMask(Protocol):
    """A copy of X with ``value`` at the steps from ``valid_len`` on (D2L 9.7).

    Args:
        X: [B, S, ...]. valid_len: [B] int, from 0 to S.
    Returns: the shape and dtype of X, which is left as it was.
    Raises: ShapeError, naming the expected and the received shape; TokenError for lengths out of range.
    """

    def __call__(self, X: Array, valid_len: Array, value: float = 0) -> Array: ...


class MaskedSoftmax(Protocol):
    """Softmax over the last axis of X, with weight only where attending is allowed.

    Args:
        X: [B, T, S] or [B, H, T, S] float.
        valid_lens: None, [B] or [B, T] int: how many leading keys each row may attend to.
        mask: boolean, True = may attend, broadcastable to X; one of three dimensions is [B, T, S]. The two combine by AND.
    Returns: the shape and dtype of X. A row that may attend to nothing gets zeros, with a gradient of zero, never NaN.
    Raises: ShapeError, naming the expected and the received shape; DtypeError for an X that is no float or a mask that is not
    boolean; TokenError for lengths out of range.
    """

    def __call__(self, X: Array, valid_lens: Array | None = None, mask: Array | None = None) -> Array: ...


class TransposeHeads(Protocol):
    """``transpose_qkv``: [B, T, D] -> [B, H, T, D/H]; ``transpose_output`` reverses it.

    D2L folds B and H into one axis; here they stay apart, so that masks broadcast over heads and fused kernels apply.

    Returns: the dtype of X. Raises: ShapeError for another rank, or a D that num_heads does not divide.
    """

    def __call__(self, X: Array, num_heads: int) -> Array: ...


class LayerNorm(Protocol):
    """Normalization over the last ``len(norm_shape)`` axes of X ``[B, ..., *norm_shape]`` float (Ba et al. 2016).

    Args:
        norm_shape: trailing sizes (an int or a sequence), as in PyTorch; never axes as in Keras.
        eps: inside the root for kinds ``layer_norm`` and ``rms_norm``; added to the deviation for ``std_norm``.
        kind: ``layer_norm`` (biased variance), ``std_norm`` (unbiased standard deviation) or ``rms_norm`` (X over the
            root of its mean square, Zhang & Sennrich 2019: nothing is subtracted).
        affine: whether there are ``weight`` and ``bias``, each of shape ``norm_shape``; ``rms_norm`` has no ``bias``.
    Returns: the shape and dtype of X.
    Raises: ShapeError when X does not end in ``norm_shape``; DtypeError for an X that is no float; ConfigError for an unknown
    kind.
    """

    def __init__(self, norm_shape: Shape, *, eps: float = 1e-5, kind: str = "layer_norm", affine: bool = True): ...
    def __call__(self, X: Array) -> Array: ...


class AddNorm(Protocol):
    """Residual connection, dropout and normalization around a sublayer (D2L 10.7.3).

    X is the sublayer's input and Y its output, both ``[B, ..., *norm_shape]`` float, as is what the call returns. ``post``: the
    call gives ln(X + dropout(Y)) and the sublayer reads X itself. ``pre``: the call gives X + dropout(Y) and the sublayer reads
    ln(X). ``sublayer_input`` gives what the sublayer reads, so that a block is written once for both orders.

    Raises: ShapeError when X and Y differ in shape; ConfigError for an unknown norm_position or norm_kind.
    """

    def __init__(
        self,
        norm_shape: Shape,
        dropout: float,
        *,
        norm_position: str = "post",
        norm_eps: float = 1e-5,
        norm_kind: str = "layer_norm",
        norm_affine: bool = True,
    ): ...
    def sublayer_input(self, X: Array) -> Array: ...
    def __call__(self, X: Array, Y: Array) -> Array: ...


class PositionWiseFFN(Protocol):
    """Position-wise feed-forward network (Vaswani et al. 2017, section 3.3): dense2(dropout(activation(dense1(X)))).

    X [B, T, ffn_num_input] float -> [B, T, ffn_num_outputs], the dtype of X. ``gated``: dense2(dropout(activation(dense1(X)) *
    dense3(X))), with dense3 of dense1's shape (Shazeer 2020, "GLU Variants Improve Transformer": its W, V and W_2 are dense1,
    dense3, dense2).

    Raises: ShapeError for another rank or width; DtypeError for an X that is no float; ConfigError for an unknown activation.
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
        gated: bool = False,
    ): ...
    def __call__(self, X: Array) -> Array: ...


class DotProductAttention(Protocol):
    """softmax(Q K^T / sqrt(d)) V (Vaswani et al. 2017, section 3.2.1), with dropout on the weights.

    Without ``scaled`` it is softmax(Q K^T) V, as in T5.

    Args:
        queries: [B, T, d] or [B, H, T, d]; keys, values: the same with S steps, or [B, G, S, d] of fewer heads: G divides H,
            and each serves H / G consecutive heads of queries (Ainslie et al. 2023).
        valid_lens: None, [B] or [B, T] int: how many leading keys each query may attend to.
        mask: boolean, True = may attend. Two dimensions are [T, S], three are [B, T, S] (the same for every head), four
            are [B, H, T, S], each of which may be 1: a mask for each head of all rows is [1, H, T, S].
        causal: query t may attend to keys up to t + (S - T), S - T being what a cache already holds.
        bias: added to the scores before masks, broadcastable to them: [1, H, T, S] of relative positions.
        need_weights: keep the weights (before dropout) in ``attention_weights``, [B, H, T, S] (or [B, T, S]);
            else ``attention_weights`` is None and a fused kernel may be used.
    Returns: the shape of queries, the last size being that of values, and their dtype. A fully masked row gives zeros.
    Raises: ShapeError, naming the expected and the received shape; DtypeError for dtypes that differ or are no floats, and for
    a mask that is not boolean; TokenError for lengths out of range.
    """

    attention_weights: Array | None

    def __init__(self, dropout: float, *, scaled: bool = True): ...
    def __call__(
        self,
        queries: Array,
        keys: Array,
        values: Array,
        valid_lens: Array | None = None,
        *,
        mask: Array | None = None,
        causal: bool = False,
        need_weights: bool = False,
        bias: Array | None = None,
    ) -> Array: ...


class MultiHeadAttention(Protocol):
    """Multi-head attention (Vaswani et al. 2017, section 3.2.2).

    Args:
        queries: [B, T, query_size]; keys: [B, S, key_size]; values: [B, S, value_size].
        valid_lens: None, [B] or [B, T] int: how many leading keys each query may attend to.
        mask: boolean, True = may attend: [T, S], [B, T, S], or [B, H, T, S] where each size may be 1.
        causal: query t may attend to keys up to t + (S - T). The three combine by AND.
        need_weights: keep the weights of each head in ``attention_weights`` [B, H, T, S].
        bias: [1, H, T, S], added to the scores.
        offset: the position of the first query, of rotary positions alone; keys that come unprojected begin at 0.
    Returns: [B, T, num_hiddens], the dtype of queries. A fully masked row gives W_o's bias, or zeros without one.
    Raises: ShapeError, naming the expected and the received shape; ConfigError when the heads do not divide D; TokenError for
    rotary positions beyond ``max_len``.

    ``head_size`` is the width of a head, None for num_hiddens / num_heads: W_q, W_k and W_v give num_heads * head_size numbers,
    and W_o takes as many. With ``num_kv_heads`` G, which divides num_heads, W_k and W_v give G * head_size, and each head of
    keys and values serves num_heads / G consecutive heads of queries (grouped-query attention, Ainslie et al. 2023).
    Without ``attention_scale`` the scores are not divided by the root of a head's width.
    With ``position="rotary"`` queries and keys are turned by their positions, see ``positions.rotary_table``.
    ``project_keys_values(keys, values, offset)`` gives the projected [B, G, S, D/H] pair that a cache holds, and
    ``attend(queries, projected_keys, projected_values, ...)`` the rest of the call. The call, too, takes such a pair.
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
        **options: Unpack[HeadOptions],
    ): ...
    @property
    def attention_weights(self) -> Array | None: ...
    def project_keys_values(self, keys: Array, values: Array, offset: Any = 0) -> tuple[Array, Array]: ...
    def attend(
        self,
        queries: Array,
        keys: Array,
        values: Array,
        valid_lens: Array | None = None,
        *,
        offset: Any = 0,
        **options: Unpack[AttentionOptions],
    ) -> Array: ...
    def __call__(
        self,
        queries: Array,
        keys: Array,
        values: Array,
        valid_lens: Array | None = None,
        *,
        offset: Any = 0,
        **options: Unpack[AttentionOptions],
    ) -> Array: ...


class PositionalEncoding(Protocol):
    """dropout(X + P): sinusoids added to X [B, T, D] float, the first step being position ``offset`` (D2L 10.6.3).

    ``offset`` is one int, or an int [B] for each row, which may be below 0: steps before position 0 are padding, and what is
    added to them is undefined. ``P`` is the table of sinusoids, [max_len, D].

    Returns: the shape and dtype of X.
    Raises: ShapeError for another rank or width; TokenError when offset + T exceeds ``max_len``; ConfigError for an unknown
    layout.
    """

    def __init__(self, num_hiddens: int, dropout: float, max_len: int = 1000, *, layout: str = "interleaved"): ...
    @property
    def P(self) -> Array: ...
    def __call__(self, X: Array, offset: Any = 0) -> Array: ...


class MaskedSoftmaxCELoss(Protocol):
    """Cross-entropy in nats, masked by valid length (D2L 9.7.3).

    The call takes logits pred [B, T, V] float, label [B, T] int and valid_len [B] int. With p the softmax of pred and q =
    (1 - label_smoothing) * onehot(label) + label_smoothing / V, a step's loss is -sum(q log p); steps >= valid_len count
    nothing. normalization ``steps`` divides each sequence's sum by T (D2L); ``tokens`` divides by the batch's number of valid
    tokens, so that the sum over the batch is the mean per token; a batch without any has the loss 0 and no gradient.

    Returns: [B], the dtype of pred; for logits in bfloat16 or float16 float32, in which the loss is then computed.
    Raises: ConfigError for an unknown normalization; ShapeError, naming the expected and the received shape; TokenError for
    labels and lengths out of range.
    """

    def __init__(self, *, label_smoothing: float = 0.0, normalization: str = "steps"): ...
    def __call__(self, pred: Array, label: Array, valid_len: Array) -> Array: ...
