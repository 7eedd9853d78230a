"""The PaddlePaddle backend: ``nn.Layer`` layers, run as dynamic graph; CPU and CUDA."""

import contextlib
import io
import os
import sys
import warnings

from transformer_mb.errors import BackendError
from transformer_mb.machine.freed_memory import keep_freed_memory
from transformer_mb.machine.processor import cores, tell_mkl

# A segmentation fault of theirs, with whatever else is loaded, and in the other order none.
if sys.modules.get("tensorflow") is not None and "paddle" not in sys.modules:
    raise BackendError(
        "The backend 'paddle' cannot be loaded after TensorFlow: in this order the two crash in one process. Load paddle "
        "first, or give each a process of its own."
    )

# Paddle prints two lines to a user who sets OMP_NUM_THREADS to more than 1; what fails still says so as an exception.
with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
    warnings.filterwarnings("ignore", "No ccache found")  # which those need who compile operators of their own
    chosen = "OMP_NUM_THREADS" in os.environ  # Paddle itself sets it
    import paddle  # noqa: F401

# isort: split
from .attention import DotProductAttention as DotProductAttention
from .attention import MultiHeadAttention as MultiHeadAttention
from .attention import masked_softmax as masked_softmax
from .attention import sequence_mask as sequence_mask
from .attention import transpose_output as transpose_output
from .attention import transpose_qkv as transpose_qkv
from .backend import PaddleBackend
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
from .shortcuts import threads

BACKEND = PaddleBackend

tell_mkl()
# Paddle takes one thread where the user does not ask for more.
if not chosen:
    threads.allow(cores())
# glibc gives arrays of megabytes back to the system and has them zeroed anew, which takes longer than to compute them.
keep_freed_memory(2**28)
