"""The rows of decoding: the same tokens wherever the reference's choice is clear."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import zip_longest

import numpy as np

from ..cells import Ask, Cell, Result
from ..computing import reference
from ..computing.messages import Arrays, Request
from ..ladder import rows_of
from ..verdict.answers import check_answer
from ..verdict.limits import Baseline, judge
from ..verdict.measure import Errors, errors, worst_errors
from .drawn_searches import drawn_searches
from .model_cases import CONFIGS, DECODER
from .token_models import ROWS, Search, drawn

BEAMS = {"greedy tokens": None, "beam tokens": 4}
CASES = {name: CONFIGS[name] for name in ("d2l", "shared and tied, padding")} | {"decoder alone": DECODER}
TIED = CONFIGS["d2l"].replace(suppress_ids=(5,))  # it ties with 6
CLEAR = 10.0  # a choice is clear when its margin exceeds so many times the measured error of the logits


class Decoding:
    """A model with sources, or with prompts of different lengths, decoded.

    Near-ties are counted and listed, not failed; of logits that are equal the lowest id wins.
    """

    after = False

    def __init__(self, row: str, case: str, dtype: str, seed: int, search: Search):
        self.row, self.case, self.dtype, self.seed, self.search = row, case, dtype, seed, search
        self.config = search.config

    def cells(self, backend: str) -> list[Cell]:
        return [Cell(self.row, self.case, self.dtype)]

    @cached_property
    def request(self) -> Request:
        model = drawn(self.search, self.seed)
        ended = np.where(model.tokens < 0, self.config.eos_id, model.tokens)
        fed = [[*prompt, *ids[:-1]] for prompt, ids in zip(self._prompts(model.arrays), ended, strict=True)]
        # Rows of one length, by what no step before it sees.
        target = np.array(list(zip_longest(*fed, fillvalue=self.config.eos_id))).T
        return Request("decode", self.dtype, self.search.spec, {**model.arrays, "target": target})

    @cached_property
    def expected(self) -> Arrays:
        return reference.answer(self.request)

    @cached_property
    def baseline(self) -> Baseline:
        if self.dtype == "float64":
            return Baseline()
        answer = reference.baseline(self.request)
        return Baseline(numpy=self._errors(answer, self._identical(answer)))

    def _identical(self, got: Arrays) -> np.ndarray:
        """[rows]: where the tokens are the reference's."""
        return (got["tokens"] == self.expected["tokens"]).all(axis=1)

    def _errors(self, got: Arrays, rows: np.ndarray) -> Errors:
        """Of all logits, and of the scores of these rows."""
        found = [errors(got["logits"], self.expected["logits"])]
        if "scores" in self.expected and rows.any():
            found.append(errors(got["scores"][rows], self.expected["scores"][rows]))
        return worst_errors(found)

    def run(self, backend: str, ask: Ask) -> list[Result]:
        got, expected = ask(self.request), self.expected
        check_answer(got, expected, self.dtype)
        # Logits that are wrong would excuse any token: they are held to a verdict of their own first.
        identical = self._identical(got)
        verdict = judge(self.row, self.dtype, self._errors(got, identical), self.baseline)
        off = float(np.abs(got["logits"].astype(np.float64) - expected["logits"]).max())
        other = np.flatnonzero(~identical).tolist()
        margins = {row: self._margin(row, got["tokens"][row]) for row in other}
        # On both sides: what scores better than the reference's own answer was found by another search. Exact ties are clear.
        clear = {row: margin for row, margin in margins.items() if not 0.0 < abs(margin) <= CLEAR * off}
        measured = "logits and scores" if "scores" in expected else "logits"
        text = f"{ROWS - len(other)} of {ROWS} rows identical; {measured} {verdict.reason}"
        for row, margin in margins.items():
            kind = "differs though clear" if row in clear else "near-tie"
            text += f"; row {row}: {kind}, margin {margin:.1e}"
        judgement = replace(verdict, passed=verdict.passed and not clear, reason=text)
        return [judgement.of(self.cells(backend)[0], backend)]

    def _margin(self, row: int, tokens: np.ndarray) -> float:
        """By how much the reference prefers its own answer: at the first other token, or over the whole hypothesis."""
        own = self.expected["tokens"][row]
        if self.row == "beam tokens":
            return self._score(row, own) - self._score(row, tokens)
        step = int(np.flatnonzero(own != tokens)[0])
        logits = self.expected["logits"][row, step].copy()
        logits[list(self.config.suppress_ids)] = -np.inf
        ours, theirs = (logits[ids[step] if ids[step] >= 0 else self.config.eos_id] for ids in (own, tokens))
        return float(ours - theirs)

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
        batch["batch.target_in"] = np.array([[*self._prompts(arrays)[row], *ids[:-1]]])
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

    def _prompts(self, arrays: Arrays) -> list[list[int]]:
        """What each row's tokens follow."""
        if self.config.has_encoder:
            return [[self.config.start_id]] * ROWS
        return [ids[:length].tolist() for ids, length in zip(arrays["source"], arrays["source_valid_lens"], strict=True)]


def special_searches(beam: int | None) -> dict[str, Search]:
    """Forced prefixes, and a coverage penalty where hypotheses are compared."""
    searches = {"forced prefixes": Search(CASES["d2l"], beam, prefixed=True)}
    if beam is not None:
        searches["coverage penalty"] = Search(CASES["d2l"], beam, coverage_penalty=0.6)
    return searches


def token_experiments(dtype: str, seed: int) -> list[Decoding]:
    experiments = []
    for row in rows_of("decode", dtype):
        searches = {case: Search(config, BEAMS[row]) for case, config in CASES.items()}
        searches |= special_searches(BEAMS[row])
        searches |= {"ties": Search(TIED, BEAMS[row], ties=True), **drawn_searches(seed, BEAMS[row] is not None)}
        experiments += [Decoding(row, case, dtype, seed, search) for case, search in searches.items()]
    return experiments
