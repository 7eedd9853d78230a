"""Products, norms and attention without the layers' checks, on weights looked up once: for many calls of a few rows.

On some tens of numbers an operation of two arrays of one shape takes NumPy 0.3 microseconds, and 1 where it has to broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from transformer_mb.decoding.through import through

from ..activations import Activation
from ..attention import DotProductAttention, MultiHeadAttention
from ..decoder import DecoderBlock, TransformerDecoder
from ..dropout import Dropout
from ..embedding import PositionalEncoding
from ..encoder import EncoderBlock, TransformerEncoder
from ..feed_forward import PositionWiseFFN
from ..framework import SAFE_EXPONENT, Embedding, Layer, Linear, Parameter, Sequential
from ..normalization import AddNorm, LayerNorm
from ..rotary import RotaryEncoding

LAYERS = {
    *(TransformerEncoder, EncoderBlock, TransformerDecoder, DecoderBlock, MultiHeadAttention, DotProductAttention),
    *(AddNorm, LayerNorm, PositionWiseFFN, PositionalEncoding, RotaryEncoding, Activation, Dropout),
    *(Sequential, Embedding, Linear),
}
SETTINGS = {bool, int, float, str, tuple, type(None)}

# Weights of up to this many numbers are joined, and multiplied as they come, in less time than further calls take.
SMALL_WEIGHT = 2**14
# For this many rows a product is faster with the weight as its left factor: 8 sentences of base size are decoded in nine tenths
# of the time, 32 would take a seventh more.
TURNED = range(2, 25)
# Of up to this many numbers a mean is computed once for each, so that all operations of a norm are of one shape.
SMALL_ROW = 64

Operation = Callable[[np.ndarray], np.ndarray]


def is_plain(side: Layer) -> bool:
    """Tell whether all layers are those of this package, on arrays that do not round, and none is replaced."""
    layers = [side]
    for layer in layers:  # those within are appended on the way
        own = vars(layer)
        if type(layer) not in LAYERS or "forward" in own or (type(layer) is LayerNorm and len(layer.norm_shape) > 1):
            return False
        for value in own.values():
            kind = type(value)
            if kind is Parameter:
                if type(value.value) is not np.ndarray:
                    return False
            elif kind not in SETTINGS and isinstance(value, Layer):
                layers.append(value)
    return True


def product(rows: int, *layers: Linear) -> Operation:
    """X [N, in] -> [N, out] of one layer, or of several on the same input, next to each other."""
    weights = [layer.weight.value for layer in layers]
    biases = [layer.bias.value for layer in layers if layer.bias is not None]
    weight = weights[0] if len(weights) == 1 else np.concatenate(weights)
    bias = np.concatenate(biases)[None] if biases else None
    turned, right = rows in TURNED and weights[0].size > SMALL_WEIGHT, weight.T

    def multiply(X: np.ndarray) -> np.ndarray:
        # Turned it lies in memory as [out, N], and so does what is computed of it until attention parts it into heads.
        Y = np.dot(weight, X.T).T if turned else np.dot(X, right)
        if bias is not None:
            Y += bias
        return Y

    return multiply


def heads(rows: int, width: int, *layers: Linear) -> Callable[[np.ndarray], Iterable[np.ndarray]]:
    """X [N, in] -> [N, out/width, width] of each layer."""
    if layers[0].weight.value.size > SMALL_WEIGHT:
        parts = [product(rows, layer) for layer in layers]
        return lambda X: [part(X).reshape(len(X), -1, width) for part in parts]
    joined = product(rows, *layers)
    ends = list(accumulate(len(layer.weight.value) // width for layer in layers))
    places = [slice(first, last) for first, last in zip([0, *ends], ends, strict=False)]

    def parted(X: np.ndarray) -> list[np.ndarray]:
        Y = joined(X).reshape(len(X), -1, width)
        return [Y[:, place] for place in places]

    return parted


def norm(layer: LayerNorm | None, dtype: np.dtype) -> Operation:
    """X [N, D] -> [N, D]."""
    if layer is None:
        return lambda X: X
    if layer.kind != "layer_norm":
        return layer.forward
    weight, bias = (None if parameter is None else parameter.value.reshape(1, -1) for parameter in (layer.weight, layer.bias))
    mean_of, eps = _averages(layer.size, layer.eps, dtype)

    def normalize(X: np.ndarray) -> np.ndarray:
        Z = X - np.dot(X, mean_of)
        deviation = np.dot(Z * Z, mean_of)
        deviation += eps
        np.sqrt(deviation, out=deviation)
        Z /= deviation
        if weight is not None:
            Z *= weight
            Z += bias
        return Z

    return normalize


@lru_cache(maxsize=8)
def _averages(size: int, eps: float, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """[D, n], a product with which is a row's mean, n times; and epsilon [1, n]."""
    times = size if size <= SMALL_ROW else 1
    return np.full((size, times), 1.0 / size, dtype), np.full((1, times), eps, dtype)


def attend(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """[B, G, T, d], [B, G, S, d] and a mask to be added, to [B, G, T, d]; the keys are divided by sqrt(d) already.

    Heads of queries that ask the same keys are steps of one.
    """
    # Numbers of a head that do not lie next to each other are multiplied one by one.
    scores = np.matmul(np.ascontiguousarray(queries), keys.swapaxes(-1, -2))
    if mask is not None:
        scores += mask
    # No score exceeds the root of the sum of squares, which takes a sixth of the time of a maximum and a difference.
    flat = scores.reshape(-1)
    if not np.dot(flat, flat) <= SAFE_EXPONENT**2:
        scores -= np.maximum.reduce(scores, axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    output = np.matmul(scores, values)
    output /= np.add.reduce(scores, axis=-1, keepdims=True)
    return output


class Hidden(NamedTuple):
    """The keys beyond ``valid_lens``, for all blocks: what is added to scores, and what values are multiplied by.

    The zeros are for a source without any token, which adds nothing.
    """

    scores: np.ndarray  # [B, 1, 1, S]: 0, or a number far below all scores
    values: np.ndarray  # [B, 1, S, 1]: True, or False


def hidden_keys(valid_lens: np.ndarray, steps: int, dtype: np.dtype) -> Hidden | None:
    """Hide keys beyond lengths [B]; None where all keys count."""
    if (valid_lens == steps).all():
        return None
    within = np.arange(steps) < valid_lens[:, None, None, None]
    return Hidden(added(within, dtype), within.swapaxes(-1, -2))


def added(allowed: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A mask to be added: 0 where a key may be attended to, else a number far below all scores.

    The squares of 2^34 such numbers have a sum, or NumPy would warn of an overflow in ``attend``. Scores vanish beside it, so
    that a row of such alone attends to all keys alike.
    """
    return np.where(allowed, 0.0, -np.sqrt(np.finfo(dtype).max) / 2**17).astype(dtype)


def encode(encoder: TransformerEncoder, source: np.ndarray, hidden: Hidden | None) -> np.ndarray:
    """Return what ``encoder(source, valid_lens)`` gives, [B, S, D], of a plain encoder in evaluation mode."""
    X = encoder.embed(source)
    B, S, D = X.shape
    X = X.reshape(B * S, D)
    for block in encoder.blks:
        X = _block(block, X, B, hidden)
    return norm(encoder.norm, X.dtype)(X).reshape(B, S, D)


def _block(block: EncoderBlock, X: np.ndarray, B: int, hidden: Hidden | None) -> np.ndarray:
    """[B * S, D] -> [B * S, D]."""
    norms = [norm(part.ln, X.dtype) for part in (block.addnorm1, block.addnorm2)]
    inner, dense2 = block.ffn._inner(partial(product, len(X))), product(len(X), block.ffn.dense2)
    sublayers = (
        lambda X: _attend(block.attention, X, B, hidden),
        lambda X: dense2(inner(X)),
    )
    return through(X, sublayers, norms, block.addnorm1.pre)


def _attend(layer: MultiHeadAttention, X: np.ndarray, B: int, hidden: Hidden | None) -> np.ndarray:
    parts = heads(len(X), layer._width, layer.W_q, layer.W_k, layer.W_v)(X)
    q, k, v = (part.reshape(B, -1, *part.shape[1:]).swapaxes(1, 2) for part in parts)  # [B, H or G, S, D/H]
    if layer.rotary is not None:
        q, k = layer.rotary.forward(q), layer.rotary.forward(k)
    q *= layer.attention._factor(q.shape[-1])
    if hidden is not None:
        v *= hidden.values
    grouped = q.reshape(*k.shape[:2], -1, q.shape[-1])
    output = attend(grouped, k, v, None if hidden is None else hidden.scores).reshape(q.shape)
    return product(len(X), layer.W_o)(output.swapaxes(1, 2).reshape(len(X), -1))
