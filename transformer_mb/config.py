"""TransformerConfig: every architectural switch, checked when it is made, with its JSON form."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from .config_checks import CHOICES as CHOICES
from .config_checks import check_buckets as check_buckets
from .config_checks import check_choice as check_choice
from .config_checks import check_count as check_count
from .config_checks import check_heads as check_heads
from .config_checks import check_kv_heads as check_kv_heads
from .config_checks import check_norm as check_norm
from .config_checks import check_norm_eps as check_norm_eps
from .config_checks import check_rate as check_rate
from .config_checks import check_rotary_base as check_rotary_base
from .config_checks import check_rotary_width as check_rotary_width
from .config_checks import check_sizes as check_sizes
from .config_checks import check_table as check_table
from .config_checks import check_whole as check_whole
from .errors import ConfigError
from .fields import check_field_types, check_names, refusing_unknown_fields

RATES = ("dropout", "attention_dropout", "embedding_dropout", "ffn_dropout")
LONGEST_TABLE = 1 << 16  # of positions that are not learned: their table is made from the number alone, which no tensor bounds


@refusing_unknown_fields
@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The configuration of a Transformer, independent of any framework. The defaults are D2L's (chapter 10.7).

    Args:
        architecture: ``encoder_decoder``; ``encoder`` alone (BERT); ``decoder`` alone, without
            cross-attention (GPT).
        source_vocab_size, target_vocab_size: rows of the embedding tables; the side that the
            architecture lacks stays None.
        num_hiddens: D, the width of the model. ffn_num_hiddens: F, the width inside the FFN.
        max_len: how many positions there are; longer sequences are refused. At most LONGEST_TABLE, unless they are learned.
        norm_position: ``post`` normalises after the residual sum (Vaswani et al. 2017), ``pre``
            before the sublayer.
        final_norm: one more normalisation after the last block of each side.
        norm_kind: ``layer_norm`` (biased variance, epsilon inside the root), ``std_norm`` (unbiased standard
            deviation, epsilon added outside the root: the Annotated Transformer) or ``rms_norm`` (root mean square,
            epsilon inside the root, no mean and no bias: Zhang & Sennrich 2019).
        norm_affine: whether normalisations have a learned scale, and a shift unless they are ``rms_norm``.
        embedding_norm: a normalisation after the embedding sum (BERT). decoder_embedding_norm: in the decoder it is of the
            ``sum``, or of ``tokens`` alone, to which positions are added afterwards (Blenderbot-small).
        ffn_gated: the FFN's activation is multiplied by a second projection of the input (T5 1.1, Llama).
        head_size: width of each head's queries, keys and values, None means num_hiddens / heads. attention_scale: scores are
            divided by its root (T5: not).
        num_kv_heads: heads of keys and values, on both sides: each serves as many consecutive heads of queries, so it divides
            their number (Ainslie et al. 2023). None means one for each, 1 is multi-query attention (Shazeer 2019).
        embedding_scale: multiply token embeddings by sqrt(D).
        share_embeddings: one table for source and target. tie_output: the output projection is the
            target embedding table.
        output_scale: what the output projection reads is divided by sqrt(D) (T5 1.0).
        padding_vector_zero: the pad row of the tables is zero and gets no gradient.
        position: what tells steps apart. ``sinusoidal`` and ``learned`` add a vector to each token's. ``relative`` adds to the
            scores of self-attention a number for each head and distance (T5), and ``rotary`` turns its queries and keys by
            angles that grow with the position (Su et al. 2021).
        sinusoid_layout: see ``positions.sinusoid_table``. relative_buckets, relative_max_distance: see
            ``positions.relative_buckets``. rotary_layout, rotary_base: see ``positions.rotary_table``.
        position_offset: number of the first position (RoBERTa starts at 2).
        token_types: rows of the encoder's token-type table, 0 for none. pooler: BERT's tanh layer
            over the first position, for architecture ``encoder``.
        dropout: rate on sublayer outputs; attention_dropout: on attention weights, embedding_dropout: on embeddings with
            positions, None means the same as dropout; ffn_dropout: after the FFN's activation.
        decoder_start_id: the first token of a target, None means bos_id.
        suppress_ids: tokens that decoding never produces.
        compat_decode: ``d2l`` decodes as the book's code does: every step at position 0, and no
            causal mask in evaluation.

    Raises:
        ConfigError: naming the field, what it must be and what it is.
    """

    architecture: str = "encoder_decoder"
    source_vocab_size: int | None = None
    target_vocab_size: int | None = None
    num_hiddens: int = 32
    ffn_num_hiddens: int = 64
    encoder_num_heads: int = 4
    decoder_num_heads: int = 4
    encoder_num_layers: int = 2
    decoder_num_layers: int = 2
    head_size: int | None = None
    num_kv_heads: int | None = None
    attention_scale: bool = True
    max_len: int = 1000
    norm_position: str = "post"
    norm_kind: str = "layer_norm"
    norm_eps: float = 1e-5
    norm_affine: bool = True
    final_norm: bool = False
    embedding_norm: bool = False
    decoder_embedding_norm: str = "sum"
    activation: str = "relu"
    embedding_scale: bool = True
    share_embeddings: bool = False
    tie_output: bool = False
    padding_vector_zero: bool = False
    position: str = "sinusoidal"
    sinusoid_layout: str = "interleaved"
    relative_buckets: int = 32
    relative_max_distance: int = 128
    rotary_layout: str = "halves"
    rotary_base: float = 10000.0
    position_offset: int = 0
    encoder_attention_bias: bool = False
    decoder_attention_bias: bool = False
    ffn_bias: bool = True
    ffn_gated: bool = False
    output_bias: bool = True
    output_scale: bool = False
    token_types: int = 0
    pooler: bool = False
    dropout: float = 0.1
    attention_dropout: float | None = None
    embedding_dropout: float | None = None
    ffn_dropout: float = 0.0
    pad_id: int = 1
    bos_id: int = 2
    eos_id: int = 3
    decoder_start_id: int | None = None
    suppress_ids: tuple[int, ...] = ()
    compat_decode: str = "correct"

    def __post_init__(self) -> None:
        if isinstance(self.suppress_ids, list):
            object.__setattr__(self, "suppress_ids", tuple(self.suppress_ids))
        check_field_types(self)
        _check_values(self)
        _check_combinations(self)

    @property
    def has_encoder(self) -> bool:
        return self.architecture != "decoder"

    @property
    def has_decoder(self) -> bool:
        return self.architecture != "encoder"

    @property
    def start_id(self) -> int:
        """The token that decoding starts from."""
        return self.bos_id if self.decoder_start_id is None else self.decoder_start_id

    def head_width(self, side: str) -> int:
        """The width of a head of the ``encoder`` or the ``decoder``."""
        return self.head_size or self.num_hiddens // int(getattr(self, f"{side}_num_heads"))

    def kv_heads(self, side: str) -> int:
        """The number of heads that keys and values of the ``encoder`` or the ``decoder`` have."""
        return self.num_kv_heads or int(getattr(self, f"{side}_num_heads"))

    @property
    def attention_dropout_rate(self) -> float:
        return self.dropout if self.attention_dropout is None else self.attention_dropout

    @property
    def embedding_dropout_rate(self) -> float:
        return self.dropout if self.embedding_dropout is None else self.embedding_dropout

    def replace(self, **changes: Any) -> TransformerConfig:
        """A copy with some fields changed, checked again."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "suppress_ids": list(self.suppress_ids)}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> TransformerConfig:
        if not isinstance(fields, dict):
            raise ConfigError(f"A configuration is a table of fields, got {type(fields).__name__}.")
        check_names("configuration field(s)", fields, (field.name for field in dataclasses.fields(cls)))
        return cls(**fields)

    @classmethod
    def from_json(cls, text: str) -> TransformerConfig:
        try:
            fields = json.loads(text)
        except json.JSONDecodeError as error:
            raise ConfigError(f"The configuration is not JSON: {error}.") from None
        return cls.from_dict(fields)


def _check_values(config: TransformerConfig) -> None:
    for name in CHOICES:
        if hasattr(config, name):
            check_choice(name, getattr(config, name))
    check_sizes(relative_buckets=config.relative_buckets, relative_max_distance=config.relative_max_distance)
    for name in (
        "num_hiddens",
        "ffn_num_hiddens",
        "encoder_num_heads",
        "decoder_num_heads",
        "encoder_num_layers",
        "decoder_num_layers",
        "max_len",
    ):
        check_sizes(**{name: getattr(config, name)})
    for name in ("token_types", "position_offset"):
        check_count(name, getattr(config, name))
    for name in RATES:
        rate = getattr(config, name)
        if rate is not None:
            check_rate(name, rate)
    check_norm_eps(config.norm_eps)
    check_rotary_base("rotary_base", config.rotary_base)


def _check_combinations(config: TransformerConfig) -> None:
    sides = {"source": config.has_encoder, "target": config.has_decoder}
    for side, present in sides.items():
        size = getattr(config, f"{side}_vocab_size")
        if present and (size is None or size < 1):
            raise ConfigError(f"{side}_vocab_size must be at least 1 for architecture {config.architecture}, got {size}.")
        if not present and size is not None:
            raise ConfigError(f"{side}_vocab_size must be absent for architecture {config.architecture}, got {size}.")
    for side, present in (("encoder", config.has_encoder), ("decoder", config.has_decoder)):
        name = f"{side}_num_heads"
        check_heads(config.num_hiddens, getattr(config, name), present, name, config.head_size)
        if present:
            check_kv_heads(getattr(config, name), config.num_kv_heads, name)
    if config.position == "sinusoidal" and config.num_hiddens % 2:
        raise ConfigError(f"num_hiddens must be even for sinusoidal positions, got {config.num_hiddens}.")
    positions = config.max_len + config.position_offset
    if config.position == "sinusoidal" and positions > LONGEST_TABLE:
        raise ConfigError(
            f"max_len + position_offset must be at most {LONGEST_TABLE} for sinusoidal positions, got {positions}."
        )
    if config.position == "relative":
        check_buckets(config.relative_buckets, config.relative_max_distance)
    if config.position in ("relative", "rotary"):
        _check_differences(config)
    if config.share_embeddings and config.source_vocab_size != config.target_vocab_size:
        raise ConfigError(
            "share_embeddings needs an encoder and a decoder with equal vocabulary sizes, got "
            f"{config.source_vocab_size} and {config.target_vocab_size}."
        )
    if config.tie_output and not config.has_decoder:
        raise ConfigError("tie_output needs a decoder, but the architecture is encoder.")
    if config.output_scale and not config.has_decoder:
        raise ConfigError("output_scale needs a decoder, but the architecture is encoder.")
    if config.token_types and not config.has_encoder:
        raise ConfigError("token_types needs an encoder, but the architecture is decoder.")
    if config.pooler and config.architecture != "encoder":
        raise ConfigError(f"pooler needs architecture encoder, got {config.architecture}.")
    if config.norm_kind == "std_norm" and config.num_hiddens < 2:
        raise ConfigError("std_norm needs num_hiddens of at least 2: one number has no unbiased deviation.")
    _check_ids(config)


def _check_differences(config: TransformerConfig) -> None:
    """Refuse what says where positions begin, and heads that cannot be turned."""
    if config.max_len > LONGEST_TABLE:
        raise ConfigError(f"max_len must be at most {LONGEST_TABLE} for {config.position} positions, got {config.max_len}.")
    if config.position_offset:
        raise ConfigError(
            f"position_offset must be 0 for {config.position} positions, of which differences alone count, got "
            f"{config.position_offset}."
        )
    if config.compat_decode != "correct":
        raise ConfigError(f"compat_decode must be correct for {config.position} positions, got {config.compat_decode}.")
    for side, present in (("encoder", config.has_encoder), ("decoder", config.has_decoder)):
        if present and config.position == "rotary":
            check_rotary_width(config.head_width(side))


def _check_ids(config: TransformerConfig) -> None:
    limits = [size for size in (config.source_vocab_size, config.target_vocab_size) if size is not None]
    if config.pad_id < 0 or config.pad_id >= min(limits):
        raise ConfigError(f"pad_id must be from 0 to {min(limits) - 1}, got {config.pad_id}.")
    if config.target_vocab_size is None:
        return
    named = {"bos_id": config.bos_id, "eos_id": config.eos_id, "decoder_start_id": config.start_id}
    named.update({f"suppress_ids[{i}]": token for i, token in enumerate(config.suppress_ids)})
    for name, token in named.items():
        if not 0 <= token < config.target_vocab_size:
            raise ConfigError(f"{name} must be from 0 to {config.target_vocab_size - 1}, got {token}.")
    if config.eos_id in config.suppress_ids:
        raise ConfigError("suppress_ids must not hold eos_id, or decoding would never end.")
