"""The PaddlePaddle backend: ``nn.Layer`` layers, run as dynamic graph; CPU and CUDA."""

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "No ccache found")  # which those need who compile operators of their own
    import paddle  # noqa: F401

# isort: split
from .attention import (
    DotProductAttention,
    MultiHeadAttention,
    masked_softmax,
    sequence_mask,
    transpose_output,
    transpose_qkv,
)
from .backend import PaddleBackend
from .decoder import DecoderBlock, TransformerDecoder
from .embedding import PositionalEncoding
from .encoder import EncoderBlock, TransformerEncoder
from .feed_forward import PositionWiseFFN
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .normalization import AddNorm, LayerNorm

BACKEND = PaddleBackend

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
    "PaddleBackend",
    "PositionWiseFFN",
    "PositionalEncoding",
    "TransformerDecoder",
    "TransformerEncoder",
    "masked_softmax",
    "sequence_mask",
    "transpose_output",
    "transpose_qkv",
]
