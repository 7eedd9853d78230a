"""Whether what a layer computes may be compiled, and what that depends on beside arrays.

A compiled call runs no Python, and so knows nothing of what became of the layers since.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mxnet import gluon
from mxnet import np as mnp
from mxnet.gluon import nn

from ..attention import DotProductAttention, MultiHeadAttention
from ..decoder import DecoderBlock, TransformerDecoder
from ..dropout import Dropout
from ..embedding import PositionalEncoding
from ..encoder import EncoderBlock, TransformerEncoder
from ..feed_forward import PositionWiseFFN
from ..model import EncoderDecoder, Pooler, TiedDense
from ..normalization import AddNorm, LayerNorm

LAYERS = frozenset(
    (
        *(EncoderDecoder, TransformerEncoder, TransformerDecoder, EncoderBlock, DecoderBlock, MultiHeadAttention),
        *(DotProductAttention, AddNorm, LayerNorm, PositionWiseFFN, PositionalEncoding, Dropout, Pooler, TiedDense),
        *(nn.Sequential, nn.Embedding, nn.Dense),
    )
)
ARRAYS = (type(None), mnp.ndarray, np.ndarray)


def settings_within(layer: gluon.Block) -> list[Any] | None:
    """All settings and parts of the layers within, in order: two such lists are equal where nobody has changed a layer.

    None where somebody watches or replaces what a layer computes: then it is to be called each time.
    """
    layers: list[gluon.Block] = [layer]
    found: list[Any] = []
    for block in layers:  # those within are appended on the way
        own = vars(block)
        if type(block) not in LAYERS or own["_forward_hooks"] or own["_forward_pre_hooks"] or "forward" in own:
            return None
        layers += own["_children"].values()
        # Of gluon's private attributes the rate of dropout counts. Arrays come and go with calls: masks, weights of attention.
        found += [own[name] for name in own if (name[0] != "_" or name == "_rate") and not isinstance(own[name], ARRAYS)]
    return layers[1:] + found
