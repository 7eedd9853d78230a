"""The PyTorch backend: ``nn.Module`` layers, fused attention, torch's own optimizers; CPU and CUDA."""

from .attention import (
    DotProductAttention,
    MultiHeadAttention,
    masked_softmax,
    sequence_mask,
    transpose_output,
    transpose_qkv,
)
from .backend import TorchBackend
from .decoder import DecoderBlock, TransformerDecoder
from .embedding import PositionalEncoding
from .encoder import EncoderBlock, TransformerEncoder
from .feed_forward import PositionWiseFFN
from .loss import MaskedSoftmaxCELoss
from .model import EncoderDecoder
from .normalization import AddNorm, LayerNorm

BACKEND = TorchBackend

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
    "PositionWiseFFN",
    "PositionalEncoding",
    "TorchBackend",
    "TransformerDecoder",
    "TransformerEncoder",
    "masked_softmax",
    "sequence_mask",
    "transpose_output",
    "transpose_qkv",
]
