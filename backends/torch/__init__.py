"""The PyTorch backend: ``nn.Module`` layers, fused attention, torch's own optimizers; CPU and CUDA."""

from .attention import DotProductAttention as DotProductAttention
from .attention import MultiHeadAttention as MultiHeadAttention
from .attention import masked_softmax as masked_softmax
from .attention import sequence_mask as sequence_mask
from .attention import transpose_output as transpose_output
from .attention import transpose_qkv as transpose_qkv
from .backend import TorchBackend
from .decoder import DecoderBlock as DecoderBlock
from .decoder import TransformerDecoder as TransformerDecoder
from .embedding import PositionalEncoding as PositionalEncoding
from .encoder import EncoderBlock as EncoderBlock
from .encoder import TransformerEncoder as TransformerEncoder
from .feed_forward import PositionWiseFFN as PositionWiseFFN
from .loss import MaskedSoftmaxCELoss as MaskedSoftmaxCELoss
from .model import EncoderDecoder as EncoderDecoder
from .normalization import AddNorm as AddNorm
from .normalization import LayerNorm as LayerNorm

BACKEND = TorchBackend
