"""Calls of an encoder and steps of a decoder as one operator each, where they come again with the same shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from mxnet import gluon
from mxnet import np as mnp
from mxnet.gluon import nn

from ..attention import DotProductAttention, MultiHeadAttention
from ..cache import BlockCache
from ..decoder import DecoderBlock, TransformerDecoder
from ..dropout import Dropout
from ..embedding import PositionalEncoding, RelativeBias
from ..encoder import EncoderBlock, TransformerEncoder
from ..feed_forward import PositionWiseFFN
from ..model import EncoderDecoder, Pooler, TiedDense
from ..normalization import AddNorm, LayerNorm
from ..rotary import RotaryEncoding
from ..weights import named_parameters
from .tape import compiled

LAYERS = frozenset(
    (
        *(EncoderDecoder, TransformerEncoder, TransformerDecoder, EncoderBlock, DecoderBlock, MultiHeadAttention),
        *(DotProductAttention, AddNorm, LayerNorm, PositionWiseFFN, PositionalEncoding, RotaryEncoding),
        *(RelativeBias, Dropout, Pooler, TiedDense, nn.Sequential, nn.Embedding, nn.Dense),
    )
)
ARRAYS = (type(None), mnp.ndarray, np.ndarray)


def settings_within(layer: gluon.Block) -> list[Any] | None:
    """All settings and parts of the layers within, in order: two such lists are equal where no layer has changed.

    None where what a layer computes is watched or replaced: then it is to be called each time.
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


# Of an encoder or decoder, as long as its settings are these: what ``tape.compiled`` makes of its calls, by the shapes and
# lengths that they depend on; until then, how often it was asked for.
CALLS: WeakKeyDictionary[gluon.Block, tuple[list[Any], dict[Any, Any]]] = WeakKeyDictionary()
MOST_CALLS = 1000


def calls_of(side: gluon.Block, *settings: Any) -> dict[Any, Any] | None:
    """Return what is known of the calls of one side; None where its layers are to be called each time."""
    now = settings_within(side)
    if now is None:
        return None
    now += settings
    if side not in CALLS or CALLS[side][0] != now:
        CALLS[side] = now, {}
    return CALLS[side][1]


def compiled_call(calls: dict[Any, Any] | None, key: Any, function: Callable[[], Any], arrays: Sequence[mnp.ndarray]) -> Any:
    """``function`` as one operator, from the third time on that it is asked for; before that, and where none can be, None."""
    if calls is None:
        return None
    if len(calls) > MOST_CALLS:
        calls.clear()
    known = calls.get(key, 0)
    if known in (0, 1):
        calls[key] = known + 1
        return None
    if known == 2:
        known = calls[key] = compiled(function, arrays, static=False)
    return known if callable(known) else None


def arrays_of(tree: Any) -> Iterator[mnp.ndarray]:
    if isinstance(tree, (list, tuple)):
        for part in tree:
            yield from arrays_of(part)
    elif isinstance(tree, mnp.ndarray):
        yield tree


def kind_of(parameters: Sequence[mnp.ndarray]) -> tuple[str, str]:
    """Return what changes where a model is cast or moved."""
    return np.dtype(parameters[0].dtype).name, str(parameters[0].ctx)


def made(before: Sequence[BlockCache], after: Sequence[BlockCache]) -> Iterator[mnp.ndarray]:
    """Yield what a step adds to each block's memory: keys and values, and of the first step those of the encoder."""
    for old, new in zip(before, after, strict=True):
        yield from (new.self_attention.keys, new.self_attention.values)
        if old.cross_attention is None:
            yield from arrays_of(new.cross_attention)


def grown(cache: BlockCache, keys: mnp.ndarray, values: mnp.ndarray, *cross: mnp.ndarray) -> BlockCache:
    own = cache.self_attention._replace(length=keys.shape[2], key_buffer=keys, value_buffer=values)
    return BlockCache(own, (*cross[:2], cross[2:]) if cross else cache.cross_attention)


def encode(model: EncoderDecoder, source: mnp.ndarray, valid_lens: mnp.ndarray) -> mnp.ndarray:
    parameters = [parameter.value for parameter in named_parameters(model.encoder).values()]
    arrays = [source, valid_lens, *parameters]
    calls = calls_of(model.encoder, *kind_of(parameters))
    call = compiled_call(calls, source.shape, lambda: model.encoder(source, valid_lens), arrays)
    return model.encoder(source, valid_lens) if call is None else call(arrays)
