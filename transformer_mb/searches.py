"""Decoding as every backend offers it: greedily, by beam search, and with scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .beam_search import BeamSession, ScoredIds, beam_search, check_search, greedy_search
from .call_checks import check_side
from .decoding import DecodingInputs, decoding_inputs


class Searches(ABC):
    """What a backend computes natively (``run_greedy``, ``start_beam``), and the calls that are made of it."""

    @abstractmethod
    def run_greedy(self, model: Any, inputs: DecodingInputs, max_steps: int) -> np.ndarray:
        """Generated ids [B, steps], of equal logits the lowest id; everything from eos on is ignored by the caller."""

    @abstractmethod
    def start_beam(self, model: Any, inputs: DecodingInputs, max_steps: int, beam: int) -> BeamSession:
        """A cached decoding of ``beam`` rows for each source or prompt."""

    def greedy(self, model: Any, source: Any, source_valid_lens: Any = None, max_steps: int | None = None) -> list[list[int]]:
        """The most probable token at each step; lists of ids without bos and eos, at most ``max_steps`` long.

        Of tokens with equal logits that with the lowest id; never one of ``suppress_ids``, whatever ties.

        Args:
            source: [B, S] int, what the encoder reads. A decoder alone has none: for it this is the prompt, ids of its
                own vocabulary that it continues, given as it was trained (so with bos, where training began with it).
                The lists hold what follows the prompt.
            source_valid_lens: [B] int, how many ids of each row there are; None means all. Rows of different lengths
                give what each of them gives alone.
            max_steps: from 1 to max_len; a prompt of n tokens leaves max_len + 1 - n. None means as many as there can be.
        Raises:
            ConfigError: the model has no decoder, or max_steps is no whole number. ShapeError, TokenError: for ids, lengths
            and steps.
        """
        inputs, steps = self._decoding_inputs(model, "greedy", source, source_valid_lens, max_steps)
        rows = self.run_greedy(model, inputs, steps).tolist()
        eos = model.config.eos_id
        return [row[: row.index(eos)] if eos in row else row for row in rows]

    def beam(
        self,
        model: Any,
        source: Any,
        source_valid_lens: Any = None,
        max_steps: int | None = None,
        beam: int = 4,
        length_penalty: float = 0.6,
    ) -> list[list[int]]:
        """Beam search (see ``beam_search``, also for ties) of what ``greedy`` takes; lists of ids without bos and eos.

        Args:
            beam: hypotheses followed at once, from 1 on. length_penalty: from 0 to 10; more favors longer ones.
        """
        check_search(beam, length_penalty, 1)
        inputs, steps = self._decoding_inputs(model, "beam", source, source_valid_lens, max_steps)
        session = self.start_beam(model, inputs, steps, beam)
        found = beam_search(session, len(inputs.tokens), beam, steps, length_penalty, inputs.tokens, model.config.eos_id)
        return [hypotheses[0].ids for hypotheses in found]

    def hypotheses(
        self,
        model: Any,
        source: Any,
        source_valid_lens: Any = None,
        max_steps: int | None = None,
        beam: int = 4,
        length_penalty: float = 0.6,
        n_best: int | None = None,
    ) -> list[list[ScoredIds]]:
        """The best hypotheses of each source with their scores, the best first: that of ``beam``, or of ``greedy`` with beam=1.

        ``n_best`` are how many, at most ``beam``; None: all of them. Fewer where there are no more.
        """
        n_best = beam if n_best is None else n_best
        check_search(beam, length_penalty, n_best)
        inputs, steps = self._decoding_inputs(model, "hypotheses", source, source_valid_lens, max_steps)
        session = self.start_beam(model, inputs, steps, beam)
        rows = len(inputs.tokens), steps, length_penalty, inputs.tokens, model.config.eos_id
        if beam == 1:
            return greedy_search(session, *rows)
        return beam_search(session, rows[0], beam, *rows[1:], n_best)

    def _decoding_inputs(
        self, model: Any, call: str, source: Any, valid_lens: Any, max_steps: int | None
    ) -> tuple[DecodingInputs, int]:
        check_side(model.config, "decoder", call)
        return decoding_inputs(model.config, source, valid_lens, max_steps, call)
