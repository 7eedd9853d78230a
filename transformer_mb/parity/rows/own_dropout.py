"""The row of a backend's own dropout: its trainers' masks are read off, and have to be drawn at their rates, each by itself.

The model shows what it drops: see ``computing/mask_reading.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ...config import TransformerConfig
from ...dropout_masks import dropout_sites
from ...parameters import parameter_shapes
from ...random_streams import stream
from ..cells import Cell, Result
from ..computing.messages import Arrays, Request, named, under
from ..verdict.independence import judge_masks
from .one_answer import OneAnswer

ROW = "own dropout"
PARTS, ROWS, STEPS, HIDDENS, HEADS = 2, 2, 8, 96, 2  # HIDDENS / HEADS must be more than PARTS * ROWS * STEPS, which are places
TAKEN = 2  # steps
SMALL = 1e-12  # what a block adds to what passes it: nothing of a mask's that the next block could see
RATES = (0.1, 0.2, 0.3, 0.4)  # in an order drawn by the seed: of sublayers, attention, embeddings, hidden units
# So large that the smallest gradient, SMALL**2 of an encoder, is more than the rounding of its weight.
OPTIONS: dict[str, Any] = {"optimizer": "sgd", "learning_rate": 1e28}


class OwnDropout(OneAnswer):
    """The reference's answer says what has to come; its masks do not count, for every framework draws its own."""

    row, case = ROW, f"{TAKEN} steps of {PARTS} parts, two seeds"

    @cached_property
    def config(self) -> TransformerConfig:
        sublayers, attention, embedding, hidden = stream(self.seed, "parity", ROW, "rates").permutation(RATES).tolist()
        vocabulary: dict[str, Any] = dict.fromkeys(("source_vocab_size", "target_vocab_size"), 4 + PARTS * ROWS * STEPS)
        heads: dict[str, Any] = dict.fromkeys(("encoder_num_heads", "decoder_num_heads"), HEADS)
        rates = {"dropout": sublayers, "attention_dropout": attention, "embedding_dropout": embedding, "ffn_dropout": hidden}
        layers: dict[str, Any] = dict.fromkeys(("encoder_num_layers", "decoder_num_layers"), 2)
        plain: dict[str, Any] = {"norm_position": "pre", "embedding_scale": False, "position": "learned", "activation": "relu"}
        sizes: dict[str, Any] = {"num_hiddens": HIDDENS, "ffn_num_hiddens": HIDDENS // 2, "max_len": STEPS}
        return TransformerConfig(**vocabulary, **sizes, **heads, **layers, **plain, **rates)

    @cached_property
    def request(self) -> Request:
        ids = 4 + np.arange(PARTS * ROWS * STEPS).reshape(PARTS, ROWS, STEPS)
        arrays = named("weights", dict(_weights(self.config, self.seed)))
        lens = np.full(ROWS, STEPS)
        for part, each in enumerate(ids):
            batch = {"source": each, "target_in": each, "target_out": each[:, ::-1].copy()}
            batch |= dict.fromkeys(("source_valid_lens", "target_valid_lens"), lens)
            arrays |= named(f"batches.{part}", batch)
        seeds = [self.seed, self.seed + 1]
        spec = {"config": self.config.to_dict(), "options": OPTIONS, "parts": PARTS, "seeds": seeds}
        return Request("masks", self.dtype, {**spec, "counts": list(range(TAKEN))}, arrays)

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        rates = {site: rate for site, (rate, _) in dropout_sites(self.config, ROWS, STEPS, STEPS).items()}
        return judge_masks(under("kept", got), rates).of(cell, backend)


def _weights(config: TransformerConfig, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Attention is even, since its queries are zero; hidden units are awake; positions say nothing."""
    for name, shape in parameter_shapes(config).items():
        value = stream(seed, "parity", ROW, name).standard_normal(shape)
        if ".ln." in name:
            value = np.full(shape, float(name.endswith("weight")))
        elif "W_q" in name or "pos_embedding" in name or name.endswith("dense2.bias"):
            value = np.zeros(shape)
        elif "W_o" in name or "dense2" in name:
            value *= SMALL / np.sqrt(shape[-1])
        elif name.endswith("dense1.bias"):
            value = np.full(shape, 4.0)
        elif "embedding" not in name:
            value *= 0.5 / np.sqrt(shape[-1])
        yield name, value
