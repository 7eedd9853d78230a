"""The row of sampling: by the numbers that a backend draws, read off, it draws the tokens that the rule says.

The numbers are its own, so that of them it is held that they are other ones for each row, step and seed, and even.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...random_streams import stream
from ..cells import FAILED, PASSED, Cell, Result
from ..computing import reference
from ..computing.messages import EPS, Request, named, rounded_arrays
from ..ladder import LADDER
from ..verdict.independence import FALSE_ALARM, Count
from .drawn_values import lengths, model_weights
from .model_cases import CONFIGS, model_by
from .one_answer import OneAnswer


def drawn_by(number: float, logits: np.ndarray, options: Mapping[str, Any]) -> int:
    """The token of a number from 0 to 1, by logits [V] of which those that may not be drawn are -inf.

    Tokens stand in the order of their logits, of equal ones the lower id first. The ``top_k`` first are kept, and of these the
    fewest whose probabilities sum to at least ``top_p`` of theirs. The token is the first one up to which the kept ones'
    probabilities, scaled to sum 1, sum to more than the number.
    """
    (token,) = drawn_within(number, number, logits, options, 0.0)
    return token


def drawn_within(low: float, high: float, logits: np.ndarray, options: Mapping[str, Any], off: float) -> set[int]:
    """The tokens of all numbers from low to high, whatever the errors of logits, each up to ``off``.

    A probability, and a sum of some, is then off by a factor of exp(2 off / temperature) at most.
    """
    tokens: set[int] = set()
    slack = float(np.expm1(2.0 * off / options["temperature"]))
    for ids in _orders(logits, off):
        falling = logits[ids] / options["temperature"]
        weights = np.exp(falling - falling[0])[: options["top_k"]]
        before = (np.cumsum(weights) - weights) / weights.sum()
        fewest, most = (max(1, int((before < options["top_p"] + by).sum())) for by in (-slack, slack))
        for size in range(fewest, most + 1):
            up_to = np.cumsum(weights[:size]) / weights[:size].sum()
            possible = int((weights[:size] > 0.0).sum())
            places = (min(int((up_to <= number).sum()), possible - 1) for number in (low - slack, high + slack))
            tokens |= set(ids[slice(next(places), next(places) + 1)].tolist())
    return tokens


def _orders(logits: np.ndarray, off: float) -> Iterator[np.ndarray]:
    """The order of the logits, and the same with two neighbors swapped that errors may have."""
    ids = np.argsort(-logits, kind="stable")
    yield ids
    apart = logits[ids][:-1] - np.maximum(logits[ids][1:], -1e300)
    for place in np.flatnonzero(apart <= 2.0 * off) if off else ():
        swapped = ids.copy()
        swapped[[place, place + 1]] = ids[[place + 1, place]]
        yield swapped


ROW = "drawn tokens"
ROWS, STEPS, SOURCE = 8, 12, 5
EVEN = 1 << 14  # tokens of the model that shows the numbers: exact in float32, as their sums are
EIGHTHS, SHOWN = 8, 3
GIVEN = (2, 0.02)  # temperatures: a whole number, and one by which hardly another than the first token is drawn
# Logits of a step may be off by this many times what NumPy's are in the dtype, or this many units in the last place.
TIMES, UNITS = 4.0, 16.0
NEXT = 1e-10  # the difference of two logits that float32 cannot tell apart


class DrawnTokens(OneAnswer):
    """Near-ties are counted and listed, not failed. In float64 tokens stand in pairs that float32 would take for ties."""

    row = ROW

    @property
    def case(self) -> str:
        return f"drawn temperature, top_k and top_p: {model_by(self.seed)}"

    @property
    def config(self) -> TransformerConfig:
        return CONFIGS[model_by(self.seed)]

    @cached_property
    def samplings(self) -> list[dict[str, Any]]:
        """Colder and hotter than 1, by each cut alone and by both; a whole number; and so cold that hardly another is drawn."""
        random = stream(self.seed, "parity", ROW)

        def sampling(hot: bool, top_k: bool, top_p: bool) -> dict[str, Any]:
            temperature = float(random.uniform(1.5, 2.5) if hot else random.uniform(0.4, 0.7))
            cuts = {"top_k": int(random.integers(3, 8)) if top_k else None, "top_p": 1.0}
            return {"temperature": temperature, **cuts, "seed": self.seed} | (
                {"top_p": float(random.uniform(0.4, 0.9))} if top_p else {}
            )

        kinds = ((False, False, False), (True, False, False), (True, True, False), (True, False, True), (True, True, True))
        return [*(sampling(*kind) for kind in kinds), *(sampling(False, False, False) | {"temperature": t} for t in GIVEN)]

    @cached_property
    def request(self) -> Request:
        random = stream(self.seed, "parity", ROW, "batch")
        even = TransformerConfig(
            source_vocab_size=self.config.source_vocab_size,
            target_vocab_size=EVEN,
            suppress_ids=(),
            max_len=self.config.max_len,
            num_hiddens=8,
            ffn_num_hiddens=8,
            encoder_num_heads=1,
            decoder_num_heads=1,
            encoder_num_layers=1,
            decoder_num_layers=1,
        )
        spec = {"config": self.config.to_dict(), "even": even.to_dict(), "samplings": self.samplings, "max_steps": STEPS}
        weights = model_weights(self.config, self.seed)
        if self.dtype == "float64" and not self.config.tie_output:
            _in_pairs(weights, self.config.eos_id + 1)
        arrays = rounded_arrays(named("weights", weights), self.dtype)
        arrays["source"] = random.integers(0, self.config.source_vocab_size or 0, (ROWS, SOURCE))
        arrays["source_valid_lens"] = lengths("some", random, ROWS, SOURCE)
        return Request("draw", self.dtype, {**spec, "seeds": [self.seed, self.seed + 1]}, arrays)

    def result(self, got: Arrays, cell: Cell, backend: str) -> Result:
        counts = list(_counts(np.stack([got["numbers.0"], got["numbers.1"]])))
        limit = math.log(2.0 * len(counts) / FALSE_ALARM)
        told = [str(count) for count in counts if count.surprise > limit]
        passed = not told
        draws = differing = near_ties = 0
        for number, options in enumerate(self.samplings):
            every, others = self._others(got[f"tokens.{number}"], got["numbers.0"], options)
            draws += every
            near_ties += sum(near for near, _ in others)
            differing += sum(not near for near, _ in others)
            told += [words for _, words in sorted(others)[:SHOWN]]
        reason = "; ".join([f"{draws - differing - near_ties} of {draws} draws identical", *told])
        status = PASSED if passed and not differing else FAILED
        return Result(*cell, backend, status, reason, differing / draws, LADDER[self.row].limit, near_ties=near_ties)

    def _others(
        self, tokens: np.ndarray, numbers: np.ndarray, options: Mapping[str, Any]
    ) -> tuple[int, list[tuple[bool, str]]]:
        """Count the drawn tokens of [B, T], and list those that are not the rule's: whether by a near-tie, and in words."""
        logits, off = self._logits(tokens)
        others, drawn = [], np.cumsum(tokens < 0, axis=1) <= 1  # an end is drawn too
        half = 0.5 / EVEN
        for row, step in np.argwhere(drawn).tolist():
            token, number = int(tokens[row, step]), float(numbers[row, step])
            token = self.config.eos_id if token < 0 else token
            expected = drawn_by(number, logits[row, step], options)
            if token != expected:
                near = token in drawn_within(number - half, number + half, logits[row, step], options, off)
                words = f"row {row}, step {step}: {number:.5f} draws {expected}, got {token}, with {dict(options)}"
                others.append((near, f"{'near-tie' if near else 'differs though clear'}, {words}"))
        return int(drawn.sum()), others

    def _logits(self, tokens: np.ndarray) -> tuple[np.ndarray, float]:
        """The reference's [B, T, V] along the tokens, and how far off they may be."""
        config = self.config
        start = config.start_id
        fed = np.concatenate([np.full((len(tokens), 1), start), np.where(tokens < 0, config.eos_id, tokens)[:, :-1]], axis=1)
        inputs = {name: self.request.arrays[name] for name in ("source", "source_valid_lens")}
        spec = {"config": config.to_dict(), "wanted": ["logits"], "loss": {}}
        weights = {name: value for name, value in self.request.arrays.items() if name.startswith("weights.")}
        request = Request("model", self.dtype, spec, weights | named("batch", {**inputs, "target_in": fed}))
        logits = reference.answer(request)["logits"]
        off = UNITS * EPS[self.dtype] * float(np.abs(logits).max())
        if self.dtype != "float64":
            off += TIMES * float(np.abs(reference.baseline(request)["logits"] - logits).max())
        logits[..., list(config.suppress_ids)] = -np.inf
        return logits, off


def _in_pairs(weights: dict[str, np.ndarray], first: int) -> None:
    """Give tokens from ``first`` on the logits of their neighbors, but for a difference: the higher id is the likelier."""
    weight, bias = weights["decoder.dense.weight"], weights.get("decoder.dense.bias")
    for odd in range(first + 1, len(weight), 2):
        weight[odd] = weight[odd - 1]
        if bias is not None:
            bias[odd] = bias[odd - 1] + NEXT


def _counts(numbers: np.ndarray) -> Iterator[Count]:
    """Count, of [seeds, rows, steps], how many came before, and how many are in each eighth from 0 to 1.

    A number is one of those of fewer than n before it with a probability of at most n / EVEN.
    """
    size = numbers.size
    again = size - len(np.unique(numbers))
    yield Count("numbers that came before", max(again, round(size * size / EVEN)), size, size / EVEN)
    for eighth in range(EIGHTHS):
        within = int((np.floor(numbers * EIGHTHS) == eighth).sum())
        yield Count(f"numbers in eighth {eighth + 1} from 0 to 1", within, size, 1.0 / EIGHTHS)
