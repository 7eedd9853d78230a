"""The TensorFlow backend: ``keras.layers.Layer`` layers on plain TensorFlow operations; CPU and GPU."""

import os
import sys

from transformer_mb.errors import BackendError, TransformerMBError

# Keras 3 chooses its own backend when it is first imported, and never again.
if "keras" not in sys.modules:
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
elif sys.modules["keras"].config.backend() != "tensorflow":
    raise BackendError(
        "The backend tensorflow needs Keras on TensorFlow, but Keras was already imported on "
        f"{sys.modules['keras'].config.backend()}. Set KERAS_BACKEND=tensorflow before importing Keras."
    )
# Keras rewrites an error from inside a layer into a page about the layer's arguments, unless it is marked so.
TransformerMBError._keras_call_info_injected = True  # type: ignore[attr-defined]

from .attention import (  # noqa: E402
    DotProductAttention,
    MultiHeadAttention,
    masked_softmax,
    sequence_mask,
    transpose_output,
    transpose_qkv,
)
from .backend import TensorFlowBackend  # noqa: E402
from .decoder import DecoderBlock, TransformerDecoder  # noqa: E402
from .embedding import PositionalEncoding  # noqa: E402
from .encoder import EncoderBlock, TransformerEncoder  # noqa: E402
from .feed_forward import PositionWiseFFN  # noqa: E402
from .loss import MaskedSoftmaxCELoss  # noqa: E402
from .model import EncoderDecoder  # noqa: E402
from .normalization import AddNorm, LayerNorm  # noqa: E402

BACKEND = TensorFlowBackend

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
    "TensorFlowBackend",
    "TransformerDecoder",
    "TransformerEncoder",
    "masked_softmax",
    "sequence_mask",
    "transpose_output",
    "transpose_qkv",
]
