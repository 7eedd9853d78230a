"""The row of first weights: models by each neutral scheme and seed, and models and layers as their framework makes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...rounding import rounded
from ..cells import Cell, Result
from ..computing.messages import Request
from ..verdict.first_weights import NEUTRAL, OWN, First, judge_first
from .one_answer import OneAnswer

ROW = "first weights"
AS_MADE = "as made"
FIRST = next(iter(NEUTRAL))
# So wide that no array is too short for its law; linear weights have other inputs than outputs, and arrays of equal shape.
WIDTH, HIDDEN, WORDS, OTHER_WORDS, STEPS = 32, 80, 60, 72, 24
SIZES: dict[str, Any] = {"num_hiddens": WIDTH, "ffn_num_hiddens": HIDDEN, "max_len": STEPS}
SIDES: dict[str, Any] = {"encoder_num_heads": 4, "decoder_num_heads": 4, "encoder_num_layers": 1, "decoder_num_layers": 1}
BIASES: dict[str, Any] = {"encoder_attention_bias": True, "decoder_attention_bias": True}
ONE_TABLE: dict[str, Any] = {
    "source_vocab_size": WORDS,
    "target_vocab_size": WORDS,
    "share_embeddings": True,
    "tie_output": True,
}
NORMS: dict[str, Any] = {"embedding_norm": True, "final_norm": True}
TIED = TransformerConfig(**SIZES, **SIDES, **BIASES, **ONE_TABLE, **NORMS, padding_vector_zero=True, position="learned")
APART = TransformerConfig(
    **SIZES, **SIDES, source_vocab_size=WORDS, target_vocab_size=OTHER_WORDS, norm_kind="std_norm", padding_vector_zero=True
)
ENCODER = TransformerConfig(
    **SIZES,
    architecture="encoder",
    source_vocab_size=WORDS,
    encoder_num_heads=4,
    encoder_num_layers=1,
    position="learned",
    token_types=8,
    pooler=True,
    norm_kind="rms_norm",
    ffn_gated=True,
    ffn_bias=False,
)
MODELS = (TIED, APART, ENCODER)
EITHER = 1.0 + 2.0**-10  # times what is lost by rounding to the nearest
LAYERS: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("LayerNorm", ([STEPS, WIDTH],), {}),
    ("LayerNorm", (WIDTH,), {"kind": "rms_norm"}),
    ("AddNorm", ([WIDTH], 0.0), {"norm_kind": "std_norm"}),
    ("MultiHeadAttention", (WORDS, HIDDEN, OTHER_WORDS, WIDTH, 4, 0.0, True), {}),
    ("PositionWiseFFN", (WIDTH, HIDDEN, WORDS), {}),
)


@dataclass(eq=False)
class FirstWeights(OneAnswer):
    """The reference's answer says what has to come; its numbers count where a scheme gives them, the same in every backend."""

    scheme: str
    row = ROW

    @property
    def case(self) -> str:
        return AS_MADE if self.scheme == AS_MADE else f"{self.scheme}, two seeds"

    @cached_property
    def made_things(self) -> list[dict[str, Any]]:
        """List what is made: one model by two seeds; in float64 two others by the first scheme, and the first once more."""
        if self.scheme != AS_MADE:
            numbered = [(TIED, 0), (TIED, 1)]
            if self.scheme == FIRST and self.dtype == "float64":
                numbered += [(APART, 2), (ENCODER, 3), (TIED, 0)]
            seeds = [self.seed * len(numbered) + number for _, number in numbered]
            return [
                {"config": config.to_dict(), "seed": seed, "initialization": self.scheme}
                for seed, (config, _) in zip(seeds, numbered, strict=True)
            ]
        layers = [{"layer": name, "arguments": arguments, "options": options} for name, arguments, options in LAYERS]
        models: list[dict[str, Any]] = [{"config": config.to_dict()} for config in MODELS]
        return [{**each, "by_itself": self.by_itself} for each in (*models, *layers)]

    @property
    def by_itself(self) -> bool:
        """True where layers are made without the backend, which puts others into its dtype: theirs is their class's own."""
        return self.scheme == AS_MADE and self.dtype == "float32"

    @cached_property
    def request(self) -> Request:
        return Request("made", self.dtype, {"made": self.made_things})

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        neutral = self.scheme != AS_MADE
        start = NEUTRAL[self.scheme] if neutral else OWN.get(backend.partition("@")[0])
        again = {str(number) for number, each in enumerate(self.made_things) if each in self.made_things[:number]}
        judged = {name: value for name, value in got.items() if name.partition(".")[0] not in again}
        configs = [TransformerConfig.from_dict(each["config"]) if "config" in each else None for each in self.made_things]
        padding = [config.pad_id if config and config.padding_vector_zero else None for config in configs]
        verdict = judge_first(First(judged, start, neutral, WIDTH, padding), self.dtype)
        if verdict.passed and neutral and (other := self._differing(got)):
            verdict = replace(verdict, passed=False, reason=f"{other} differs from what its seed gives everywhere")
        return verdict.of(cell, backend)

    def _differing(self, got: Arrays) -> str:
        """The first array that has not the reference's numbers, rounded to the nearest.

        Of two that are equally near either will do: to float16 some frameworks round by way of float32, some at once.
        """
        for name, exact in self.expected.items():
            nearest = np.abs(rounded(exact, self.dtype) - exact)
            if (np.abs(got[name] - exact) > nearest * EITHER).any():
                return name
            if not np.array_equal(rounded(got[name], self.dtype), got[name]):  # it is nearer than its dtype allows
                return name
        return ""


def first_experiments(dtype: str, seed: int) -> list[FirstWeights]:
    """Make one scheme in two bytes, where a framework rounds numbers of the others, and JAX draws them of so few bits."""
    schemes = [*NEUTRAL, AS_MADE] if dtype in PLAIN_DTYPES else [FIRST]
    return [FirstWeights(dtype, seed, scheme) for scheme in schemes]
