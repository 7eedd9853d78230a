"""The NumPy backend: layers with gradients derived by hand. The reference of all others in float64, and fast alone."""

from .attention import (
    DotProductAttention,
    MultiHeadAttention,
    masked_softmax,
    sequence_mask,
    transpose_output,
    transpose_qkv,
)
from .backend import NumPyBackend
from .decoder import DecoderBlock, TransformerDecoder
from .embedding import PositionalEncoding
from .encoder import EncoderBlock, TransformerEncoder
from .feed_forward import PositionWiseFFN
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .normalization import AddNorm, LayerNorm

BACKEND = NumPyBackend

__all__ = [
    "BACKEND",
    "AddNorm",
    "DecoderBlock",
    "DotProductAttention",
    "EncoderBlock",
    "EncoderDecoder",
    "LayerNorm",
    "MaskedSoftmaxCELoss",
    "MultiHeadAttention",
    "NumPyBackend",
    "PositionWiseFFN",
    "PositionalEncoding",
    "TransformerDecoder",
    "TransformerEncoder",
    "masked_softmax",
    "sequence_mask",
    "transpose_output",
    "transpose_qkv",
]
