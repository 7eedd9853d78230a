"""The keyword-only options of blocks and stacks, declared once for all backends.

Names and types are here, defaults in ``TransformerConfig``, choices in ``config.CHOICES``. A new switch is a line in
each, and the layer that obeys it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from .config import CHOICES, TransformerConfig, check_buckets, check_choice, check_count, check_rate, check_rotary_base
from .errors import ConfigError


class AttentionOptions(TypedDict, total=False):
    """The options that MultiHeadAttention hands on; see ``interface.DotProductAttention``."""

    mask: Any
    causal: bool
    need_weights: bool
    bias: Any


class NormOptions(TypedDict, total=False):
    """The options of all normalizations inside a block or a stack; see ``interface.LayerNorm``."""

    norm_eps: float
    norm_kind: str
    norm_affine: bool


class HeadOptions(TypedDict, total=False):
    """MultiHeadAttention's. ``head_size``: the width of a head; None is num_hiddens / num_heads.

    ``num_kv_heads``: heads of keys and values, which divide those of queries; None is as many.
    Of ``position`` only ``rotary`` says something here; ``max_len`` bounds it.
    """

    head_size: int | None
    num_kv_heads: int | None
    attention_scale: bool
    position: str
    rotary_layout: str
    rotary_base: float
    max_len: int


class BlockOptions(NormOptions, HeadOptions, total=False):
    """EncoderBlock's. ``attention_dropout``: on attention weights; None is the block's own rate."""

    norm_position: str
    activation: str
    ffn_bias: bool
    ffn_gated: bool
    ffn_dropout: float
    attention_dropout: float | None


class DecoderBlockOptions(BlockOptions, total=False):
    """DecoderBlock's. Without ``cross_attention`` the block attends to its own sequence alone."""

    cross_attention: bool
    compat_decode: str


class EmbeddingOptions(NormOptions, total=False):
    """The way from tokens to vectors. ``padding_id``: the row that is zero and gets no gradient.

    ``embedding_dropout``: on embeddings with positions; None is the stack's own rate.
    """

    max_len: int
    position: str
    sinusoid_layout: str
    position_offset: int
    embedding_scale: bool
    embedding_norm: bool
    embedding_dropout: float | None
    padding_id: int | None


class RelativeOptions(TypedDict, total=False):
    """The numbers of ``position="relative"``; see ``positions.relative_buckets``."""

    relative_buckets: int
    relative_max_distance: int


class EncoderOptions(EmbeddingOptions, BlockOptions, RelativeOptions, total=False):
    """TransformerEncoder's. ``token_types``: rows of the token-type table, 0 for none."""

    token_types: int
    final_norm: bool


class DecoderOptions(EmbeddingOptions, DecoderBlockOptions, RelativeOptions, total=False):
    """TransformerDecoder's."""

    decoder_embedding_norm: str
    final_norm: bool
    output_bias: bool
    output_scale: bool


DEFAULTS: dict[str, Any] = {
    **{field.name: field.default for field in dataclasses.fields(TransformerConfig)},
    "cross_attention": True,
    "padding_id": None,
}


# The numbers among them, and what refuses a wrong one; max_len and norm_eps are refused by the layers that take them.
NUMBERS: dict[str, Callable[[str, Any], None]] = {
    "attention_dropout": check_rate,
    "embedding_dropout": check_rate,
    "ffn_dropout": check_rate,
    "rotary_base": check_rotary_base,
    "position_offset": check_count,
    "token_types": check_count,
}


class Chosen:
    """A layer's options with the defaults filled in, also as the groups of arguments that its parts take.

    Args:
        declared: the TypedDict of the layer. options: what the caller gave.
        dropout: the layer's own rate, which ``attention_dropout`` and ``embedding_dropout`` fall back to.
    Raises: ConfigError for an unknown name or choice.
    """

    def __init__(self, declared: type, options: Mapping[str, Any], dropout: float):
        names = declared.__annotations__
        unknown = sorted(set(options) - set(names))
        if unknown:
            raise ConfigError(f"Unknown option(s): {', '.join(unknown)}. The options are: {', '.join(sorted(names))}.")
        self.values = {name: options.get(name, DEFAULTS[name]) for name in names}
        for name in CHOICES.keys() & self.values.keys():
            check_choice(name, self.values[name])
        for name in NUMBERS.keys() & self.values.keys():
            if self.values[name] is not None:
                NUMBERS[name](name, self.values[name])
        for name in {"attention_dropout", "embedding_dropout"} & names.keys():
            if self.values[name] is None:
                self.values[name] = dropout

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def of(self, declared: type) -> dict[str, Any]:
        """Select the options that a part with options of its own takes."""
        return self._on({name: name for name in declared.__annotations__})

    def _on(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Return options by what a part calls them, without switches that are off: a backend may not have each of them."""
        on = {name: option for name, option in names.items() if self.values[option] or self.values[option] != DEFAULTS[option]}
        return {name: self.values[option] for name, option in on.items()}

    @property
    def layer_norm(self) -> dict[str, Any]:
        """The arguments of LayerNorm."""
        return {name: self.values[f"norm_{name}"] for name in ("eps", "kind", "affine")}

    @property
    def add_norm(self) -> dict[str, Any]:
        """The arguments of AddNorm."""
        return {**self.of(NormOptions), "norm_position": self.norm_position}

    @property
    def heads(self) -> dict[str, Any]:
        """The options of self-attention."""
        return self.of(HeadOptions)

    @property
    def relative(self) -> dict[str, Any]:
        """The arguments of RelativeBias that are options."""
        check_buckets(self.relative_buckets, self.relative_max_distance)
        return {"max_len": self.max_len, "buckets": self.relative_buckets, "max_distance": self.relative_max_distance}

    @property
    def cross_heads(self) -> dict[str, Any]:
        """The options of cross-attention, whose queries and keys stand in no common order."""
        return {**self.heads, "position": DEFAULTS["position"]}

    @property
    def ffn(self) -> dict[str, Any]:
        """The arguments of PositionWiseFFN."""
        return self._on({"activation": "activation", "dropout": "ffn_dropout", "use_bias": "ffn_bias", "gated": "ffn_gated"})


def encoder_block_arguments(config: TransformerConfig) -> dict[str, Any]:
    """All arguments of the encoder's blocks, by name."""
    return _arguments(config, "encoder", BlockOptions)


def decoder_block_arguments(config: TransformerConfig, i: int) -> dict[str, Any]:
    """All arguments of the decoder's block ``i``, by name."""
    return {**_arguments(config, "decoder", DecoderBlockOptions), "i": i}


def encoder_arguments(config: TransformerConfig) -> dict[str, Any]:
    """All arguments of TransformerEncoder, by name."""
    sizes = {"vocab_size": config.source_vocab_size, "num_layers": config.encoder_num_layers}
    return {**sizes, **_arguments(config, "encoder", EncoderOptions)}


def decoder_arguments(config: TransformerConfig) -> dict[str, Any]:
    """All arguments of TransformerDecoder, by name."""
    sizes = {"vocab_size": config.target_vocab_size, "num_layers": config.decoder_num_layers}
    return {**sizes, **_arguments(config, "decoder", DecoderOptions)}


def _arguments(config: TransformerConfig, side: str, declared: type) -> dict[str, Any]:
    D = config.num_hiddens
    derived = {"cross_attention": config.has_encoder, "padding_id": config.pad_id if config.padding_vector_zero else None}
    return {
        **dict.fromkeys(("key_size", "query_size", "value_size", "num_hiddens", "ffn_num_input"), D),
        "norm_shape": [D],
        "ffn_num_hiddens": config.ffn_num_hiddens,
        "num_heads": getattr(config, f"{side}_num_heads"),
        "dropout": config.dropout,
        "use_bias": getattr(config, f"{side}_attention_bias"),
        **{name: derived[name] if name in derived else getattr(config, name) for name in declared.__annotations__},
    }
