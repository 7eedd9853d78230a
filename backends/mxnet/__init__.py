"""The MXNet backend: gluon Blocks on mxnet.np arrays, imperative; MXNet 1.9.1, float32 and float64."""

from . import shim  # noqa: F401 - first: without it MXNet cannot be imported

# isort: split
from .attention import (
    DotProductAttention,
    MultiHeadAttention,
    masked_softmax,
    sequence_mask,
    transpose_output,
    transpose_qkv,
)
from .backend import MXNetBackend
from .decoder import DecoderBlock, TransformerDecoder
from .embedding import PositionalEncoding
from .encoder import EncoderBlock, TransformerEncoder
from .feed_forward import PositionWiseFFN
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .normalization import AddNorm, LayerNorm

BACKEND = MXNetBackend

__all__ = [
    "BACKEND",
    "AddNorm",
    "DecoderBlock",
    "DotProductAttention",
    "EncoderBlock",
    "EncoderDecoder",
    "LayerNorm",
    "MXNetBackend",
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
