"""The JAX backend: ``flax.nnx`` modules, whole steps and decoding loops compiled by XLA, optax; CPU and GPU."""

from .attention import (
    DotProductAttention,
    MultiHeadAttention,
    masked_softmax,
    sequence_mask,
    transpose_output,
    transpose_qkv,
)
from .backend import JAXBackend
from .decoder import DecoderBlock, TransformerDecoder
from .embedding import PositionalEncoding
from .encoder import EncoderBlock, TransformerEncoder
from .feed_forward import PositionWiseFFN
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .normalization import AddNorm, LayerNorm

BACKEND = JAXBackend

__all__ = [
    "BACKEND",
    "AddNorm",
    "DecoderBlock",
    "DotProductAttention",
    "EncoderBlock",
    "EncoderDecoder",
    "JAXBackend",
    "LayerNorm",
    "MaskedSoftmaxCELoss",
    "MultiHeadAttention",
    "PositionWiseFFN",
    "PositionalEncoding",
    "TransformerDecoder",
    "TransformerEncoder",
    "masked_softmax",
    "sequence_mask",
    "transpose_output",
    "transpose_qkv",
]
