"""The contracts of the layers: what each takes, returns and raises, with shapes.

A backend's layers are native objects of its framework; these protocols say what they share, and a test compares every
backend with them: names, order, defaults and keyword-only options of constructors and calls. Names and order are those
of Dive into Deep Learning as its package d2l 0.17 has them (chapter 10). Shape letters: B batch, T query steps, S key
steps, H heads, G those of keys and values where they are fewer, D num_hiddens, F ffn_num_hiddens, V vocabulary. A layer also
takes what its framework requires of a constructor, keyword-only (Keras ``name`` and ``dtype``, nnx ``rngs`` and
``param_dtype``). The options of blocks and stacks are in ``layer_options.py``, the contract of a whole backend in
``backend.py``, that of its trainer in ``trainer.py``.

What a layer refuses, it refuses in the same words everywhere, with the checks of ``checks.py``: ShapeError for ranks, widths
and batches, of no rows too, DtypeError for a mask that is not boolean, features that are whole numbers or of a dtype that the
framework would have to cast and does not, TokenError for ids and lengths out of range, ConfigError for what it is made of.
Ids, lengths and masks may also be lists or NumPy arrays. Ids and lengths are read in eager calls on the CPU only: what is
compiled, or lies on an accelerator, is checked for shapes and dtypes alone.
"""

from .layers import (
    AddNorm,
    DotProductAttention,
    LayerNorm,
    MaskedSoftmax,
    MaskedSoftmaxCELoss,
    MultiHeadAttention,
    PositionalEncoding,
    PositionWiseFFN,
    SequenceMask,
    TransposeHeads,
)
from .models import DecoderBlock, EncoderBlock, EncoderDecoder, TransformerDecoder, TransformerEncoder

LAYERS = {
    contract.__name__: contract
    for contract in (
        LayerNorm,
        AddNorm,
        PositionWiseFFN,
        DotProductAttention,
        MultiHeadAttention,
        PositionalEncoding,
        EncoderBlock,
        DecoderBlock,
        TransformerEncoder,
        TransformerDecoder,
        EncoderDecoder,
        MaskedSoftmaxCELoss,
    )
}
FUNCTIONS = {
    "sequence_mask": SequenceMask,
    "masked_softmax": MaskedSoftmax,
    "transpose_qkv": TransposeHeads,
    "transpose_output": TransposeHeads,
}

__all__ = [
    "FUNCTIONS",
    "LAYERS",
    "AddNorm",
    "DecoderBlock",
    "DotProductAttention",
    "EncoderBlock",
    "EncoderDecoder",
    "LayerNorm",
    "MaskedSoftmax",
    "MaskedSoftmaxCELoss",
    "MultiHeadAttention",
    "PositionWiseFFN",
    "PositionalEncoding",
    "SequenceMask",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransposeHeads",
]
