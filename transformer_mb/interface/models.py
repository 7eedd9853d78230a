"""Contracts of blocks, stacks and the whole model."""

from __future__ import annotations

from typing import Any, Protocol, Unpack

from ..config import TransformerConfig
from ..layer_options import BlockOptions, DecoderBlockOptions, DecoderOptions, EncoderOptions
from .layers import Array, Shape


class EncoderBlock(Protocol):
    """Self-attention, then the FFN, each inside AddNorm: X [B, T, D] float -> [B, T, D], the dtype of X.

    ``valid_lens``, ``mask``, ``need_weights`` and ``bias`` are those of MultiHeadAttention, and so are the errors.
    ``layer_options.encoder_block_arguments(config)`` gives all arguments of a configuration's blocks.
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: Shape,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        use_bias: bool = False,
        **options: Unpack[BlockOptions],
    ): ...
    def __call__(
        self,
        X: Array,
        valid_lens: Array | None = None,
        *,
        mask: Array | None = None,
        need_weights: bool = False,
        bias: Array | None = None,
    ) -> Array: ...


class DecoderBlock(Protocol):
    """Causal self-attention, cross-attention, FFN, each inside AddNorm; arguments as EncoderBlock's, with its index i.

    The call: X [B, T, D] and a state give ``(Y, state)``, Y [B, T, D]. The state is D2L's list ``[enc_outputs,
    enc_valid_lens, caches]``; ``caches[i]`` is None at the start of a sequence, afterwards this block's projected keys and
    values, so that a sequence may be fed whole or piece by piece with the same result. The state passed in is left as it was.
    Without ``enc_outputs`` (None), or with ``cross_attention=False``, the cross-attention sublayer is skipped.
    ``bias`` [1, H, T, S] is added to the scores of self-attention. Raises: ShapeError for a state that is no such list, or of
    another batch than X.
    """

    def __init__(
        self,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: Shape,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        dropout: float,
        i: int,
        use_bias: bool = False,
        **options: Unpack[DecoderBlockOptions],
    ): ...
    def __call__(
        self, X: Array, state: list[Any], *, need_weights: bool = False, bias: Array | None = None
    ) -> tuple[Array, list[Any]]: ...


class TransformerEncoder(Protocol):
    """Embeddings times sqrt(D) plus positions, then the blocks (D2L 10.7.4): X [B, S] int -> [B, S, D] float.

    ``valid_lens`` None, [B] or [B, S] int counts the leading ids that are no padding; ``token_types`` is [B, S] int.
    ``attention_weights``: one [B, H, S, S] per block after a call with ``need_weights=True``, else None each.
    ``layer_options.encoder_arguments(config)`` gives all arguments of a configuration's encoder.
    Raises: ShapeError for ids that are not [B, S]; TokenError for ids outside the table, or more steps than ``max_len``;
    ConfigError for token types without a table of them.
    """

    def __init__(
        self,
        vocab_size: int,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: Shape,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_layers: int,
        dropout: float,
        use_bias: bool = False,
        **options: Unpack[EncoderOptions],
    ): ...
    @property
    def attention_weights(self) -> list[Array | None]: ...
    def __call__(
        self,
        X: Array,
        valid_lens: Array | None = None,
        *,
        token_types: Array | None = None,
        need_weights: bool = False,
    ) -> Array: ...


class TransformerDecoder(Protocol):
    """Embeddings, positions, causal blocks and the output projection (D2L 10.7.5).

    ``init_state(enc_outputs, enc_valid_lens, max_steps=None, left_padding=None)`` starts a sequence; with ``max_steps``
    the caches are allocated once for this many steps, and one step more is refused wherever its number is known. In a
    compiled loop it is not: a graph of TensorFlow refuses it as it runs, and JAX gives logits of NaN.
    ``left_padding`` [B] int is how many steps at the start of each row are no tokens: nothing attends to them, and
    position 0 is the first step after them. The call: X [B, T] int -> (logits [B, T, V], state); the position of the first
    step is the number of steps that the state already holds, less the padding.
    ``attention_weights``: the lists of self-attention and cross-attention weights of the last call with
    ``need_weights=True``. ``layer_options.decoder_arguments(config)`` gives all arguments of a configuration's decoder.
    Raises: ShapeError for ids that are not [B, T], or a state that is not of this decoder; TokenError for ids outside the
    table, or more steps than ``max_len``.
    """

    def __init__(
        self,
        vocab_size: int,
        key_size: int,
        query_size: int,
        value_size: int,
        num_hiddens: int,
        norm_shape: Shape,
        ffn_num_input: int,
        ffn_num_hiddens: int,
        num_heads: int,
        num_layers: int,
        dropout: float,
        use_bias: bool = False,
        **options: Unpack[DecoderOptions],
    ): ...
    @property
    def attention_weights(self) -> list[list[Array | None]]: ...
    def init_state(
        self,
        enc_outputs: Array | None,
        enc_valid_lens: Array | None = None,
        max_steps: int | None = None,
        left_padding: Array | None = None,
    ) -> list[Any]: ...
    def __call__(self, X: Array, state: list[Any], *, need_weights: bool = False) -> tuple[Array, list[Any]]: ...


class EncoderDecoder(Protocol):
    """An encoder and a decoder; either may be None (architectures ``encoder`` and ``decoder``).

    The call: ``(enc_X, dec_X, enc_valid_lens)`` -> (logits, state) as the decoder gives them, or the encoder's
    [B, S, D] when there is no decoder. ``pooler`` is BERT's tanh(dense(first position)). ``config`` is the
    TransformerConfig of a model made by ``from_config``, whose weights are the framework's own until they are set. Raises:
    ShapeError for a missing input, ConfigError for one of a side that the model lacks, and the errors of both sides.
    """

    config: TransformerConfig

    def __init__(self, encoder: Any, decoder: Any, pooler: Any = None): ...
    @classmethod
    def from_config(cls, config: TransformerConfig) -> EncoderDecoder: ...
    def __call__(self, enc_X: Array, dec_X: Array = None, enc_valid_lens: Array | None = None) -> Any: ...
