"""Dropout masks made outside every framework, so that training with dropout can be compared.

A mask says which elements are kept; the layer multiplies by 1 / (1 - rate) itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .call_checks import check_dropout_paths
from .config import TransformerConfig
from .random_streams import stream

Sites = dict[str, tuple[float, tuple[int, ...]]]


def dropout_sites(config: TransformerConfig, batch: int, source_steps: int = 0, target_steps: int = 0) -> Sites:
    """Return all places where a model drops out, by layer path: the rate and the shape of what it drops from.

    Sites whose rate is 0 are left out.
    """
    D, F = config.num_hiddens, config.ffn_num_hiddens
    sites: Sites = {}

    def sublayers(block: str, steps: int, attentions: dict[str, int], heads: int, addnorms: int) -> None:
        for name, keys in attentions.items():
            sites[f"{block}.{name}.attention.dropout"] = (config.attention_dropout_rate, (batch, heads, steps, keys))
        sites[f"{block}.ffn.dropout"] = (config.ffn_dropout, (batch, steps, F))
        numbers = [n for n in range(1, addnorms + 1) if config.has_encoder or n != 2]
        for number in numbers:
            sites[f"{block}.addnorm{number}.dropout"] = (config.dropout, (batch, steps, D))

    if config.has_encoder:
        sites["encoder.dropout"] = (config.embedding_dropout_rate, (batch, source_steps, D))
        for i in range(config.encoder_num_layers):
            attentions = {"attention": source_steps}
            sublayers(f"encoder.blks.block{i}", source_steps, attentions, config.encoder_num_heads, 2)
    if config.has_decoder:
        sites["decoder.dropout"] = (config.embedding_dropout_rate, (batch, target_steps, D))
        attentions = {"attention1": target_steps}
        if config.has_encoder:
            attentions["attention2"] = source_steps
        for i in range(config.decoder_num_layers):
            sublayers(f"decoder.blks.block{i}", target_steps, attentions, config.decoder_num_heads, 3)
    return {path: site for path, site in sites.items() if site[0] > 0.0}


def batch_sites(config: TransformerConfig, batch: Sequence[Any]) -> Sites:
    """The sites of one training step; the arrays are a ``trainer.Batch``'s, whose source is None without an encoder."""
    source, _, target_in, *_ = batch
    return dropout_sites(config, target_in.shape[0], 0 if source is None else source.shape[1], target_in.shape[1])


def dropout_masks(
    config: TransformerConfig, seed: int, step: int, batch: int, source_steps: int = 0, target_steps: int = 0
) -> dict[str, np.ndarray]:
    """Boolean keep-masks for one training step, by layer path; keyed by seed, step and path."""
    sites = dropout_sites(config, batch, source_steps, target_steps)
    return {path: keep_mask(seed, step, path, rate, shape) for path, (rate, shape) in sites.items()}


def keep_mask(seed: int, step: int, path: str, rate: float, shape: tuple[int, ...]) -> np.ndarray:
    """Draw a mask: True where an element is kept, each with probability 1 - rate."""
    return stream(seed, "dropout", step, path).random(shape) >= rate


def drawn_masks(sites: Sites, seed: int, step: int) -> dict[str, np.ndarray]:
    """Keep-masks for a backend's own dropout: other ones than ``dropout_masks``, in a third of the time.

    Whole numbers of 32 bits, two in each that the generator draws, are compared with the rate.
    """
    generator = np.random.SFC64((seed % 2**64, step))
    masks = {}
    for path, (rate, shape) in sites.items():
        size = math.prod(shape)
        numbers = generator.random_raw((size + 1) // 2).view(np.uint32)[:size]
        masks[path] = (numbers >= np.uint32(min(round(rate * 2**32), 2**32 - 1))).reshape(shape)
    return masks


@contextmanager
def injected(
    dropouts: Callable[[Any], Mapping[str, Any]],
    module: Any,
    masks: Mapping[str, Any] | None,
    native: Callable[[Any], Any],
    none: Any = None,
) -> Iterator[None]:
    """Have the dropouts of ``module`` hold masks by path as ``keep``, made native, inside the block; None changes nothing.

    Raises: ShapeError when there is not exactly one mask for each.
    """
    if masks is None:
        yield
        return
    layers = dropouts(module)
    check_dropout_paths(masks, layers)
    try:
        for path, dropout in layers.items():
            dropout.keep = native(masks[path])
        yield
    finally:
        for dropout in layers.values():
            dropout.keep = none
