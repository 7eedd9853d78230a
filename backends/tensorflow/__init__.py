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

from .attention import DotProductAttention as DotProductAttention  # noqa: E402
from .attention import MultiHeadAttention as MultiHeadAttention  # noqa: E402
from .attention import masked_softmax as masked_softmax  # noqa: E402
from .attention import sequence_mask as sequence_mask  # noqa: E402
from .attention import transpose_output as transpose_output  # noqa: E402
from .attention import transpose_qkv as transpose_qkv  # noqa: E402
from .backend import TensorFlowBackend  # noqa: E402
from .decoder import DecoderBlock as DecoderBlock  # noqa: E402
from .decoder import TransformerDecoder as TransformerDecoder  # noqa: E402
from .embedding import PositionalEncoding as PositionalEncoding  # noqa: E402
from .encoder import EncoderBlock as EncoderBlock  # noqa: E402
from .encoder import TransformerEncoder as TransformerEncoder  # noqa: E402
from .feed_forward import PositionWiseFFN as PositionWiseFFN  # noqa: E402
from .loss import MaskedSoftmaxCELoss as MaskedSoftmaxCELoss  # noqa: E402
from .model import EncoderDecoder as EncoderDecoder  # noqa: E402
from .normalization import AddNorm as AddNorm  # noqa: E402
from .normalization import LayerNorm as LayerNorm  # noqa: E402

BACKEND = TensorFlowBackend
