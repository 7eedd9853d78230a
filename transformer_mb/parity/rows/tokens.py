"""The rows of decoding: the same tokens wherever the reference's choice is clear."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ...built_in import PLAIN_DTYPES
from ...columns.messages import Arrays
from ...config import TransformerConfig
from ..cells import Ask, Cell, Result
from ..computing import reference
from ..computing.messages import Request, perturbed_copy
from ..computing.thresholds import TINY
from ..ladder import rows_of
from ..verdict.answers import check_answer
from ..verdict.limits import NONE, PERTURBED_COPIES, Baseline, Draws, Errors, errors, judge_by_draws, worst_errors
from .drawn_models import drawn_searches
from .model_cases import CONFIGS, DECODER, SMALL
from .token_models import Search, drawn, prompts

BEAMS = {"greedy tokens": None, "beam tokens": 4}
CASES = {name: CONFIGS[name] for name in ("d2l", "shared and tied, padding")} | {"decoder alone": DECODER}
OTHERWISE = TransformerConfig(
    **SMALL,
    encoder_attention_bias=True,
    decoder_attention_bias=True,
    embedding_scale=False,
    norm_affine=False,
    norm_eps=0.1,
    position_offset=2,
    output_scale=True,
    activation="silu",
    ffn_gated=True,
    suppress_ids=(4,),
)
REPEATS = 3  # MXNet compiles from the third search on
# Backends take other ways for few rows, for one, for weights of more than 2^16 numbers, and in later steps.
WIDE = TransformerConfig(
    **{**SMALL, "num_hiddens": 264, "encoder_num_heads": 4, "decoder_num_heads": 4, "max_len": 32},
    decoder_num_layers=1,
    decoder_attention_bias=True,
    tie_output=True,
)
LONG, CUT = 20, 3
NARROW = TransformerConfig(**{**SMALL, "num_hiddens": 4})
FURTHER = TransformerConfig(
    **{**SMALL, "encoder_num_heads": 1},
    num_kv_heads=1,
    norm_kind="rms_norm",
    norm_position="pre",
    final_norm=True,
    embedding_norm=True,
    norm_eps=1e-3,
    position="learned",
    position_offset=2,
    token_types=2,
    eos_id=7,
)
TIED = CONFIGS["d2l"].replace(suppress_ids=(5,))  # it ties with 6
REPEATED = ("ties", "decoder alone", "forced prefixes")
# Of another token than the reference's: its margin is clear when it exceeds this many times the largest error of that step's
# logits. Each of the two may be off by that much, and once more where a step by itself is computed in another order.
CLEAR_STEP = 4.0
# Those that are asked for alone, those that come with their score, and those that ``decoding.decode`` asks for besides.
SEARCHED = ["tokens", "scored tokens", "second tokens", "tokens again", "sampled tokens"]
SEARCHED += ["tokens of fewer steps", "scored of fewer steps"]
CLEAR_SCORE = 10.0  # of another hypothesis, whose score is a sum over its steps: the largest error of all logits


class Decoding:
    """A model with sources, or with prompts of different lengths, decoded.

    Near-ties are counted and listed, not failed; of logits that are equal the lowest id wins.
    """

    after = False

    def __init__(self, row: str, case: str, dtype: str, seed: int, search: Search):
        self.row, self.case, self.dtype, self.seed, self.search = row, case, dtype, seed, search
        self.config = search.config
        self._draws = Draws(self._draw)

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(self.row, self.case, self.dtype)]

    def tiny(self) -> Decoding:
        """Return the same with tiny thresholds of each backend."""
        search = replace(self.search, setting=TINY)
        return Decoding(self.row, f"{self.case}, {TINY}", self.dtype, self.seed, search)

    @cached_property
    def request(self) -> Request:
        # One model in float64 and float32.
        model = drawn(self.search, self.seed, "float32" if self.dtype in PLAIN_DTYPES else self.dtype)
        return Request("decode", self.dtype, self.search.spec, model.arrays)

    @cached_property
    def expected(self) -> Arrays:
        return reference.answer(self.request)

    def baseline(self, copies: int = 0) -> Baseline:
        """Measure what the case and this number of perturbed copies allow."""
        if self.dtype == "float64":
            return Baseline()
        lost, moved, _ = zip(*self._draws.with_copies(copies), strict=True)
        return Baseline(numpy=worst_errors(lost), copies=worst_errors(moved) if self.dtype in PLAIN_DTYPES else NONE)

    def _draw(self, number: int) -> tuple[Errors, Errors, np.ndarray]:
        """Measure what NumPy loses in the dtype, how far the exact result is from the case's, and its logits' error."""
        if number == 0:
            got = reference.baseline(self.request)
            return _errors(got, self.expected), NONE, _off(got, self.expected)
        copy = perturbed_copy(self.request, number - 1)
        got, exact = reference.baseline(copy), reference.answer(copy)
        return _errors(got, exact), _errors(exact, self.expected), _off(got, exact)

    def _excused(self, got: Arrays) -> np.ndarray:
        """[rows, steps]: by how much logits may be off. In two bytes those of rounded NumPy are, whatever a backend loses."""
        if self.dtype in PLAIN_DTYPES:
            return _off(got, self.expected)
        return np.max([off for *_, off in self._draws.with_copies(PERTURBED_COPIES)], axis=0)

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got, expected = ask(self.request), self.expected
        check_answer(got, expected, self.dtype)
        # Logits that are wrong would excuse any token: they are held to a verdict of their own first.
        verdict = judge_by_draws(self.row, self.dtype, _errors(got, expected), self.baseline)
        off = self._excused(got)
        text = f"{_identical(got, expected).sum()} of {self.search.rows} rows identical; logits and scores {verdict.reason}"
        differing = [(name, row) for name in _searched(expected) for row in _differing(got[name], expected[name])]
        near_ties = 0
        for name, row in differing:
            margin, excused = self._margin(name, row, got[name][row], off)
            # On both sides: what scores better than the reference's own answer was found by another search. Of logits that
            # are equal the lowest id wins.
            if not 0.0 < abs(margin) <= excused:
                text += f"; row {row}: differs though clear, margin {margin:.1e}"
                break  # one is enough, and each takes a forward pass
            text += f"; row {row}: near-tie, margin {margin:.1e}"
            near_ties += 1
        passed = verdict.passed and near_ties == len(differing)
        result = replace(verdict, passed=passed, reason=text).of(self.cells(backend)[0], backend)
        return [replace(result, near_ties=near_ties)]

    def _margin(self, name: str, row: int, tokens: np.ndarray, off: np.ndarray) -> tuple[float, float]:
        """Measure by how much the reference prefers its own answer: at the first other token, or over the whole hypothesis.

        And how large a margin the errors of the logits, ``off`` [rows, steps], excuse.
        """
        own = self.expected["tokens"][row, : len(tokens)]
        if self.row == "beam tokens":
            return self._score(row, self.expected[name][row]) - self._score(row, tokens), CLEAR_SCORE * float(off.max())
        differing = np.flatnonzero(own != tokens)
        if not len(differing):  # it is cut elsewhere
            return 0.0, 0.0
        step = int(differing[0])
        logits = self.expected["logits"][row, step].copy()
        logits[list(self.config.suppress_ids)] = -np.inf
        ours, theirs = (logits[ids[step] if ids[step] >= 0 else self.config.eos_id] for ids in (own, tokens))
        return float(ours - theirs), CLEAR_STEP * float(off[row, step])

    def _score(self, row: int, tokens: np.ndarray) -> float:
        """The score of a hypothesis (Wu et al. 2016, equation 14), by the reference; of what follows its prefix."""
        ids = [int(token) for token in tokens if token >= 0]
        ids += [self.config.eos_id] if len(ids) < self.search.max_steps else []
        covering = self.search.coverage_penalty
        wanted = ["logits", "attention"] if covering else ["logits"]
        spec = {"config": self.config.to_dict(), "wanted": wanted, "loss": {}}
        arrays = self.request.arrays
        inputs = ("source", "source_valid_lens") if self.config.has_encoder else ()
        batch = {f"batch.{name}": arrays[name][row : row + 1] for name in inputs}
        batch["batch.target_in"] = np.array([[*prompts(self.config, arrays)[row], *ids[:-1]]])
        weights = {name: value for name, value in arrays.items() if name.startswith("weights.")}
        answer = reference.answer(Request("model", self.dtype, spec, weights | batch))
        given = int((arrays["prefixes"][row] >= 0).sum()) if self.search.prefixed else 0
        covered = 0.0
        if covering:
            last = answer[f"attention.decoder_cross.{self.config.decoder_num_layers - 1}"][0]  # [H, T, S]
            attended = last.mean(axis=0).sum(axis=0)[: int(arrays["source_valid_lens"][row])]
            covered = covering * float(np.log(np.minimum(attended, 1.0)).sum())
        ids = ids[given:]
        logits = answer["logits"][0, -len(ids) :]
        logits[:, list(self.config.suppress_ids)] = -np.inf
        logits = logits - logits.max(axis=-1, keepdims=True)
        log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        total = sum(float(log_probs[i, token]) for i, token in enumerate(ids))
        return total / ((5.0 + len(ids)) / 6.0) ** self.search.length_penalty + covered


def _off(got: Arrays, expected: Arrays) -> np.ndarray:
    """[rows, steps]: the largest error of each step's logits."""
    return np.asarray(np.abs(got["logits"].astype(np.float64) - expected["logits"]).max(axis=-1))


def _differing(got: np.ndarray, expected: np.ndarray) -> list[int]:
    """The rows with another token."""
    rows: list[int] = np.flatnonzero((got != expected).any(axis=1)).tolist()
    return rows


def _searched(answer: Arrays) -> list[str]:
    return [name for name in SEARCHED if name in answer]


def _identical(got: Arrays, expected: Arrays) -> np.ndarray:
    """[rows]: where all tokens are the same."""
    return np.all([(got[name] == expected[name]).all(axis=1) for name in _searched(expected)], axis=0)


def _errors(got: Arrays, expected: Arrays) -> Errors:
    """Measure all logits, and the scores of the rows with the same tokens."""
    found, rows = [errors(got["logits"], expected["logits"])], _identical(got, expected)
    if rows.any():
        found.append(errors(got["scores"][rows], expected["scores"][rows]))
    return worst_errors(found)


def special_searches(beam: int | None) -> dict[str, Search]:
    """Forced prefixes; greedily the book's decoding; where hypotheses are compared, penalties.

    A length penalty makes the longest win, of a model that has no shortcut for few tokens; a sharp attention leaves words
    nothing to the penalty on coverage; cut short, hypotheses tie with one another.
    """
    searches = {"forced prefixes": Search(TIED, beam, prefixed=True)}
    if beam is None:
        searches["the book's decoding"] = Search(CASES["d2l"].replace(compat_decode="d2l"), beam, rows=3)
    else:
        searches["ties, cut"] = Search(TIED, beam, ties=True, max_steps=CUT)
        searches["coverage penalty"] = Search(CASES["d2l"], beam, coverage_penalty=0.6)
        relative = CASES["d2l"].replace(position="relative")
        searches["the two best"] = Search(CASES["d2l"], beam, second=True)
        searches["one row, relative positions, long ones win"] = Search(relative, beam, length_penalty=2.0, rows=1)
        one_block = CASES["d2l"].replace(decoder_num_layers=1)
        searches["coverage penalty, sharp attention"] = Search(one_block, beam, coverage_penalty=0.6, sharpness=60.0)
    return searches


def token_experiments(dtype: str, seed: int) -> list[Decoding]:
    experiments = []
    for row in rows_of("decode", dtype):
        searches = {case: Search(config, BEAMS[row]) for case, config in CASES.items()}
        searches["few rows, gated, biases, no scales"] = Search(OTHERWISE, BEAMS[row], rows=3)
        searches["one row, wide, tied, long"] = Search(WIDE, BEAMS[row], rows=1, max_steps=LONG)
        searches["pre-norm, one head of keys, learned positions, another end"] = Search(FURTHER, BEAMS[row])
        if dtype in PLAIN_DTYPES:  # of four numbers in two bytes, one that is rounded otherwise is as much as all may be off
            searches["narrower than each source is long"] = Search(NARROW, BEAMS[row], shortest=4)
        searches |= special_searches(BEAMS[row])
        searches |= {"ties": Search(TIED, BEAMS[row], ties=True), **drawn_searches(seed, BEAMS[row] is not None)}
        if dtype == "float32":  # what is asked for again is compiled anew, and is the same program in every dtype
            searches |= {case: replace(searches[case], repeats=REPEATS) for case in REPEATED}
        experiments += [Decoding(row, case, dtype, seed, search) for case, search in searches.items()]
    return experiments
