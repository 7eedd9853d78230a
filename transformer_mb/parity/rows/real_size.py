"""A model per seed of a size that is used: its width, words, steps and heads are beyond those of every other case.

What a backend does from some size on is done here, and what is right for toys alone is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...config import TransformerConfig
from ...dropout_masks import dropout_masks
from ...random_streams import stream
from ..cells import Experiment
from ..computing import reference
from ..computing.messages import Request, named, rounded_arrays
from ..ladder import rows_of
from ..verdict.comparison import Comparison
from .drawn_values import model_weights
from .layer_cases import SMOOTH
from .model_cases import ModelCase
from .models import drawn_batch
from .token_models import Search, fed_target
from .tokens import BEAMS, Decoding

NAME = "real size"
WORDS = 8001  # no multiple of anything
SIZES: dict[str, Any] = {
    "source_vocab_size": WORDS,
    "target_vocab_size": WORDS,
    "num_hiddens": 256,
    "ffn_num_hiddens": 512,
    "encoder_num_heads": 4,
    "decoder_num_heads": 4,
    "encoder_num_layers": 1,
    "decoder_num_layers": 1,
    "max_len": 70,
}
SWITCHES: dict[str, tuple[Any, ...]] = {
    "norm_position": ("post", "pre"),
    "activation": SMOOTH,  # of its many ReLUs rounding turns one on or off
    "position": ("sinusoidal", "learned"),
    "share_embeddings": (False, True),
    "decoder_attention_bias": (False, True),
}
ROWS, SOURCE_STEPS, TARGET_STEPS, DECODED_STEPS = 3, 64, 48, 12
OPTIONS = {"optimizer": "sgd", "learning_rate": 64.0, "momentum": 0.9, "clip_norm": 0.1, "normalization": "tokens"}
SHARPER = 3.0  # logits are this many times further apart than random weights have them
LIKELY, LIKELIER = 10, 5.0  # words that are decoded more often


class RealDecoding(Decoding):
    """A search for the first sources that come, since choices among its many words are clear without a selection."""

    @cached_property
    def request(self) -> Request:
        arrays = _weights(self.seed) | _sources(self.seed)
        spec = self.search.spec
        tokens = reference.answer(Request("decode", self.dtype, {**spec, "repeats": 0}, arrays))["tokens"]
        return Request("decode", self.dtype, spec, {**arrays, "target": fed_target(self.config, arrays, tokens)})


def real_size_experiments(dtype: str, seed: int) -> Sequence[Experiment]:
    """Outputs, loss and gradients; by turns searches in float64 and a clipped step in float32, or the other way round.

    Nothing is made before it is asked for.
    """
    if dtype not in PLAIN_DTYPES:
        return []
    searching = dtype == PLAIN_DTYPES[seed % 2]
    steps = () if searching else rows_of("train", dtype)
    experiments = [
        Comparison(NAME, dtype, rows, partial(make, dtype, seed))
        for rows, make in ((rows_of("model", dtype), _model_request), (steps, _step_request))
        if rows
    ]
    searched = rows_of("decode", dtype) if searching else ()
    return [*experiments, *(_decoding(row, dtype, seed) for row in searched)]


def _decoding(row: str, dtype: str, seed: int) -> RealDecoding:
    # What greedily is asked for again is drawn too, where one word is left to draw; it is the same program in both dtypes.
    repeats = 1 if BEAMS[row] is None and dtype == "float32" else 0
    search = Search(_case(seed).config, BEAMS[row], max_steps=DECODED_STEPS, rows=ROWS, repeats=repeats)
    return RealDecoding(row, NAME, dtype, seed, search)


@lru_cache(maxsize=1)
def _case(seed: int) -> ModelCase:
    random = stream(seed, "parity", NAME)
    switches = {name: values[random.integers(len(values))] for name, values in SWITCHES.items()}
    config = TransformerConfig(**SIZES, **switches)
    return ModelCase(NAME, config, rows=ROWS, source_steps=SOURCE_STEPS, target_steps=TARGET_STEPS)


@lru_cache(maxsize=1)
def _weights(seed: int) -> dict[str, np.ndarray]:
    """Draw one set for all that is asked of the model, the same in both dtypes."""
    config = _case(seed).config
    weights = model_weights(config, seed)
    kernel, bias = (weights[f"decoder.dense.{name}"] for name in ("weight", "bias"))
    likely = stream(seed, "parity", NAME, "likely").choice(range(config.eos_id, WORDS - 1), LIKELY, replace=False)
    kernel *= SHARPER
    bias[likely] += LIKELIER
    # The last word stands next to the one that would be decoded first, and is likelier: a search that has not all words shows.
    search = Search(config, None, max_steps=1).spec
    arrays = named("weights", weights) | _sources(seed)
    first = reference.answer(Request("decode", "float64", search, arrays))["tokens"][0, 0]
    kernel[-1], bias[-1] = kernel[first], bias[first] + 1.0
    return rounded_arrays(named("weights", weights), "float32")


def _sources(seed: int) -> dict[str, np.ndarray]:
    batch = drawn_batch(_case(seed), stream(seed, "parity", NAME, "sources"))
    return {name: batch[name] for name in ("source", "source_valid_lens")}


def _model_request(dtype: str, seed: int) -> Request:
    case = _case(seed)
    masks = dropout_masks(case.config, seed, 0, case.rows, case.source_steps, case.target_steps)
    batch = drawn_batch(case, stream(seed, "parity", NAME, "batch"))
    arrays = _weights(seed) | named("batch", batch) | named("masks", masks)
    return Request("model", dtype, {"config": case.config.to_dict(), "wanted": ["logits", "loss"], "loss": {}}, arrays)


def _step_request(dtype: str, seed: int) -> Request:
    case = _case(seed)
    batch = drawn_batch(case, stream(seed, "parity", NAME, "batch"))
    arrays = _weights(seed) | named("batches.0", batch)
    spec = {"config": case.config.to_dict(), "options": OPTIONS, "step_count": 0, "steps": 1, "seed": seed}
    return Request("train", dtype, {**spec, "accumulate": 1, "set_before": []}, arrays)
