"""The contracts of the layers: what each takes, returns and raises, with shapes.

A backend's layers are native objects of its framework; these protocols say what they share, and a test compares every
backend with them: names, order, defaults and keyword-only options of constructors and calls. Names and order are those
of Dive into Deep Learning as its package d2l 0.17 has them (chapter 10). Shape letters: B batch, T query steps, S key
steps, H heads, G those of keys and values where they are fewer, D num_hiddens, F ffn_num_hiddens, V vocabulary. A layer also
takes what its framework requires of a constructor, keyword-only (Keras ``name`` and ``dtype``, nnx ``rngs`` and
``param_dtype``). The options of blocks and stacks are in ``layer_options.py``, the contract of a whole backend in
``backend.py``, that of its trainer in ``trainer.py``.

Every backend refuses the same inputs in the same words, with the checks of ``checks.py``. ShapeError: a wrong rank, width
or batch, or no rows. DtypeError: a mask that is not boolean; features that are whole numbers, or of a dtype that the
framework does not cast. TokenError: ids and lengths out of range. ConfigError: arguments of a constructor that cannot be.
Ids, lengths and masks may also be lists or NumPy arrays. Values of ids and lengths are checked only in eager calls on the
CPU; what is compiled, or lies on an accelerator, is checked for shapes and dtypes.
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
