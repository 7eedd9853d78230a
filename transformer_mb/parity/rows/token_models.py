"""Models and sources whose translations say something: random weights mostly repeat one token, or stop at once.

Drawn by the seed until the reference's own hypotheses end, or are cut where few steps are allowed, hold several different
tokens, and would not be the same under the mistakes that a search is most likely to make.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np

from ...columns.messages import Arrays
from ...config import TransformerConfig
from ...errors import ParityError
from ...random_streams import stream
from ..computing import reference
from ..computing.messages import EPS, Request, named, rounded_arrays
from ..computing.mistaken_searches import HURRIED
from .drawn_values import model_weights

ROWS, STEPS, SOURCE_STEPS = 24, 8, 5
LONGEST_PREFIX = 3
SPARE, ATTEMPTS = 7, 1000  # rows that are drawn beside each that is wanted
# Each choice of greedy decoding is by this many of the dtype's epsilons, times the logits' deviation, above the next. Logits
# in two bytes are off by some three to ten of them.
CLEAR_EPSILONS = 8.0
DIFFERENT_TOKENS = range(2, 7)  # in a hypothesis
HYPOTHESES = 4  # different ones among the rows, at least
SHOWN = 3  # rows that each mistake must change, at least


@dataclass(frozen=True)
class Search:
    """The way of decoding: greedily where ``beam`` is None.

    ``ties``: pairs of tokens have exactly equal logits. ``max_steps``: where it is not ``STEPS`` every hypothesis is cut there.
    ``prefixed``: rows begin with up to ``LONGEST_PREFIX`` forced tokens, some with none. ``shortest``: steps of the shortest
    source. ``sharpness``: of the attention to it. ``second``: the second best hypothesis is asked for too. ``repeats``: see
    ``decoding.decode``. ``setting``: of the backend, in which it is asked.
    """

    config: TransformerConfig
    beam: int | None
    length_penalty: float = 0.6
    ties: bool = False
    max_steps: int = STEPS
    coverage_penalty: float = 0.0
    prefixed: bool = False
    shortest: int = 0
    rows: int = ROWS
    sharpness: float = 1.0
    repeats: int = 0
    second: bool = False
    setting: str | None = None

    @property
    def cut(self) -> bool:
        return self.max_steps != STEPS

    def at_least(self, wanted: int) -> int:
        """Ask for half of the rows where there are few."""
        return wanted if self.rows >= 2 * wanted else (self.rows + 1) // 2

    @property
    def spec(self) -> dict[str, Any]:
        return {
            "config": self.config.to_dict(),
            "max_steps": self.max_steps,
            "beam": self.beam,
            "length_penalty": self.length_penalty,
            "coverage_penalty": self.coverage_penalty,
            "repeats": self.repeats,
            "second": self.second,
            "mistake": None,
            "setting": self.setting,
        }

    @property
    def mistakes(self) -> dict[str, dict[str, Any]]:
        """The changes of the spec by which each mistake is made."""
        wrong: dict[str, dict[str, Any]] = {}
        if self.beam:
            if not self.second:  # a beam of one has none
                wrong["beam taken for greedy"] = {"beam": 1}  # of which the same program is made
            if not self.cut:  # among hypotheses of one length it chooses nothing
                wrong["another length penalty"] = {"length_penalty": 0.0 if self.length_penalty else 2.0}
            wrong["caches that do not follow their hypotheses"] = {"mistake": "caches not reordered"}
            if self.rows == 1 and self.length_penalty > 1.0:  # of several rows the slowest decides when a search ends
                wrong["a search that ends by today's length"] = {"mistake": HURRIED}
        if self.coverage_penalty:
            wrong["no coverage penalty"] = {"coverage_penalty": 0.0}
            wrong["coverage of the next row"] = {"mistake": "coverage of the next row"}
        if self.prefixed:
            wrong["no prefix"] = {"mistake": "no prefix"}
            wrong["a prefix that is written but not read"] = {"mistake": "prefix not read"}
        if self.config.compat_decode == "d2l":
            wrong["positions that move"] = {"config": {**self.config.to_dict(), "compat_decode": "correct"}}
        if self.ties:
            wrong["the last of equal logits"] = {"mistake": "the last of equal logits"}
        if self.config.suppress_ids and not self.config.tie_output:  # tied, tokens repeat themselves: few others ever win
            wrong["suppressed tokens"] = {"config": {**self.config.to_dict(), "suppress_ids": []}}
        return wrong


@dataclass(frozen=True)
class Drawn:
    """``arrays`` of a decode request; ``changed``: how many rows each mistake changes."""

    arrays: dict[str, np.ndarray]
    tokens: np.ndarray
    changed: dict[str, int]


@lru_cache(maxsize=64)
def drawn(search: Search, seed: int, dtype: str) -> Drawn:
    """Draw a model with weights of the dtype. Raises ParityError when no attempt gives what is asked for."""
    for attempt in range(ATTEMPTS):
        model = _attempt(search, dtype, stream(seed, "tokens", search.beam or 0, attempt))
        if model is not None:
            return model
    raise ParityError(
        f"Seed {seed} must give a model whose hypotheses differ, but {ATTEMPTS} drawn models do not: take another."
    )


def _attempt(search: Search, dtype: str, random: np.random.Generator) -> Drawn | None:
    config, pool = search.config, search.rows + SPARE * ROWS
    # A decoder alone has prompts of its own vocabulary instead.
    source = random.integers(0, config.source_vocab_size or config.target_vocab_size or 0, (pool, SOURCE_STEPS))
    arrays: dict[str, np.ndarray] = {"source": source}
    arrays["source_valid_lens"] = random.integers(search.shortest or int(not config.has_encoder), SOURCE_STEPS + 1, pool)
    if search.prefixed:
        arrays["prefixes"] = _prefixes(config, pool, random)
    per_row = (*arrays, "target")
    weights = _decisive(model_weights(config, int(random.integers(1 << 31))), config, random)
    if search.ties:
        weights["decoder.dense.weight"] = _tied_rows(*weights["decoder.dense.weight"].shape)
        weights["decoder.dense.bias"][:] = 0.0
    for name in weights:
        if name.endswith("attention2.W_q.weight"):
            weights[name] = weights[name] * search.sharpness
    arrays |= rounded_arrays(named("weights", weights), dtype)

    def answer(dtype: str = "float64", target: Arrays | None = None, **changes: Any) -> dict[str, np.ndarray]:
        spec = {**search.spec, "repeats": 0, "tokens alone": target is None, **changes}
        return reference.run(reference.backend(dtype), Request("decode", dtype, spec, {**arrays, **(target or {})}))

    expected = answer()["tokens"]
    good = np.array([is_telling(row, search) for row in expected])
    if good.sum() < search.rows:
        return None
    target = {"target": fed_target(config, arrays, expected)}
    if search.beam is None:
        logits = answer(target=target)["logits"]
        good &= _are_clear(config, expected, logits, arrays.get("prefixes"), CLEAR_EPSILONS * EPS[dtype])
    else:
        good &= (answer(dtype)["tokens"] == expected).all(axis=1)
    if good.sum() < search.rows:  # before the mistakes are made
        return None
    wrong: dict[str, np.ndarray] = {}
    for name, changes in search.mistakes.items():
        wrong[name] = (answer(**changes)["tokens"] != expected).any(axis=1)
        if wrong[name][good].sum() < search.at_least(SHOWN):  # in whichever rows are taken
            return None
    arrays |= target
    shown = np.sum(list(wrong.values()), axis=0) if wrong else np.zeros(pool, int)
    rows = np.argsort(np.where(good, -shown, 1), kind="stable")[: search.rows]
    changed = {name: int(differs[rows].sum()) for name, differs in wrong.items()}
    different = len(np.unique(expected[rows], axis=0))
    enough = different >= search.at_least(HYPOTHESES) and all(count >= search.at_least(SHOWN) for count in changed.values())
    if not enough:
        return None
    arrays = {name: value[rows] if name in per_row else value for name, value in arrays.items()}
    return Drawn(arrays, expected[rows], changed)


def fed_target(config: TransformerConfig, arrays: Arrays, tokens: np.ndarray) -> np.ndarray:
    """[B, steps]: what is fed to the decoder for these tokens, in rows of one length: no step sees what comes after it."""
    ended = np.where(tokens < 0, config.eos_id, tokens)
    fed = [[*prompt, *ids[:-1]] for prompt, ids in zip(prompts(config, arrays), ended, strict=True)]
    return np.array(list(zip_longest(*fed, fillvalue=config.eos_id))).T


def prompts(config: TransformerConfig, arrays: Arrays) -> list[list[int]]:
    """Return what each row's tokens follow."""
    if config.has_encoder:
        return [[config.start_id]] * len(arrays["source"])
    return [ids[:length].tolist() for ids, length in zip(arrays["source"], arrays["source_valid_lens"], strict=True)]


def _are_clear(
    config: TransformerConfig, tokens: np.ndarray, logits: np.ndarray, prefixes: np.ndarray | None, margin: float
) -> np.ndarray:
    """[B]: whether each choice of greedy decoding, or what is equal to it, is better than the next by this many deviations."""
    allowed = np.delete(logits, config.suppress_ids, axis=-1)
    best = allowed.max(axis=-1, keepdims=True)
    gaps = (best - np.where(allowed < best, allowed, -np.inf)).min(axis=-1)  # to the next one that is not as good
    steps = np.arange(tokens.shape[1])
    chosen = steps <= (tokens >= 0).sum(axis=1)[:, None]  # the end is a choice too
    if prefixes is not None:
        chosen &= steps >= (prefixes >= 0).sum(axis=1)[:, None]
    return ~(chosen & (gaps < margin * logits.std())).any(axis=1)


def _prefixes(config: TransformerConfig, rows: int, random: np.random.Generator) -> np.ndarray:
    """[rows, LONGEST_PREFIX]: ids, also 0, and -1 after a prefix's end; every fourth row has none."""
    ids = [0, *range(config.eos_id + 1, config.target_vocab_size or 0)]
    prefixes = random.choice(ids, (rows, LONGEST_PREFIX))
    lengths = random.integers(0, LONGEST_PREFIX + 1, rows)
    return np.where(np.arange(LONGEST_PREFIX) < lengths[:, None], prefixes, -1)


def is_telling(tokens: Sequence[int] | np.ndarray, search: Search) -> bool:
    """Tell whether a hypothesis (-1 after its end) ends, or is cut where it is to be, and holds several tokens."""
    ids = [int(token) for token in tokens if token >= 0]
    return (len(ids) == search.max_steps) == search.cut and len(set(ids)) in DIFFERENT_TOKENS


def _decisive(weights: dict[str, np.ndarray], config: TransformerConfig, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Logits further apart, and an end that is neither rare nor at once."""
    table = "encoder.embedding.weight" if config.share_embeddings else "decoder.embedding.weight"
    output = table if config.tie_output else "decoder.dense.weight"
    # A scale of the output would leave the choice to the bias.
    undone = math.sqrt(config.num_hiddens) if config.output_scale and not config.tie_output else 1.0
    weights[output] = weights[output] * (undone * random.choice([1.5, 3.0]))
    if config.tie_output:  # or each token's own vector, which it reads, makes it follow itself
        for name in weights:
            if name.startswith("decoder") and name.endswith("ffn.dense2.weight"):
                weights[name] = weights[name] * 4.0
    if "decoder.dense.bias" in weights:
        weights["decoder.dense.bias"][config.eos_id] += random.choice([0.0, 1.0, 2.0])
    return weights


def _tied_rows(vocab_size: int, num_hiddens: int) -> np.ndarray:
    """Let each pair of tokens read one hidden number, times a power of two: their logits are equal however they are summed."""
    rows = np.zeros((vocab_size, num_hiddens))
    units = (np.arange(vocab_size) + 1) // 2 % num_hiddens  # the end, 3, is the lower of its pair
    rows[np.arange(vocab_size), units] = 4.0
    return rows
