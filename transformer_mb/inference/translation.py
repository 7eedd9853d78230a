"""Text in, text out, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, Unpack, overload

import numpy as np

from ..data.batching import SourceBatch, restore_order, source_batches
from ..decoding.beam_search import LENGTH_PENALTY, ScoredIds
from ..errors import ConfigError
from .scoring import PairScore, scored_pairs
from .search_options import LineOptions, LineSearch, checked_search, listed_lines, published
from .text_model import TextModel
from .written import NOTHING, Hypothesis, replaced_unknown, with_prefix

Result = TypeVar("Result")


LARGEST = 1 << 26  # numbers that a step of a search has in its rows' vocabularies together; a wide beam has fewer lines at once


class Translator(TextModel):
    """Translates with a model and its vocabularies; see ``TextModel`` for the arguments."""

    @overload
    def translate(  # type: ignore[overload-overlap]
        self, lines: str, beam: int = 1, length_penalty: float = LENGTH_PENALTY, **options: Unpack[LineOptions]
    ) -> str: ...
    @overload
    def translate(
        self, lines: Iterable[str], beam: int = 1, length_penalty: float = LENGTH_PENALTY, **options: Unpack[LineOptions]
    ) -> list[str]: ...
    def translate(
        self, lines: Any, beam: int = 1, length_penalty: float = LENGTH_PENALTY, **options: Unpack[LineOptions]
    ) -> Any:
        """Translate one text, or each of several. An empty text stays empty, and unknown words are allowed.

        Args:
            beam: hypotheses of the beam search; 1 decodes greedily.
            length_penalty: 0 orders hypotheses by their probability alone, more (up to 10) favors longer ones.
            options: see ``LineOptions``: coverage_penalty, sample, prefixes, max_ratio, as_published, first.
        Raises:
            ConfigError: a beam or a length penalty that cannot be; TokenError: a line that is too long, see ``too_long``;
            DataError: lines that are no text.
        """
        listed = listed_lines(lines)
        search = checked_search(self, listed, lines, beam, length_penalty, 1, options)

        def decode(batch: SourceBatch, numbers: Sequence[int]) -> list[list[int]]:
            if search.as_published:
                return self.backend.generate(self.model, batch.source, batch.source_valid_lens, published(self, alone=True))
            limits = self._steps(batch, numbers, search)
            found = searched((self.model, batch.source, batch.source_valid_lens, limits), numbers)
            self.unended += sum(len(ids) == int(limit) for ids, limit in zip(found, limits, strict=True))
            return found

        def searched(inputs: tuple[Any, Any, Any, Any], numbers: Sequence[int]) -> list[list[int]]:
            prefixes = search.prefixes_of(numbers)
            if search.sample is not None:
                rows = np.asarray(numbers) + search.first
                return self.backend.sample(*inputs, search.sample, rows=rows, prefixes=prefixes)
            if beam == 1:
                return self.backend.greedy(*inputs, prefixes=prefixes)
            covering = search.coverage_penalty
            return self.backend.beam(*inputs, beam, length_penalty, coverage_penalty=covering, prefixes=prefixes)

        texts = self._each(
            listed, search.first, beam, decode, lambda ids, number: self._text(listed[number], ids, search.given_to(number)), ""
        )
        return texts[0] if isinstance(lines, str) else texts

    @overload
    def hypotheses(  # type: ignore[overload-overlap]
        self,
        lines: str,
        beam: int = 4,
        n_best: int | None = None,
        length_penalty: float = LENGTH_PENALTY,
        **options: Unpack[LineOptions],
    ) -> list[Hypothesis]: ...
    @overload
    def hypotheses(
        self,
        lines: Iterable[str],
        beam: int = 4,
        n_best: int | None = None,
        length_penalty: float = LENGTH_PENALTY,
        **options: Unpack[LineOptions],
    ) -> list[list[Hypothesis]]: ...
    def hypotheses(
        self,
        lines: Any,
        beam: int = 4,
        n_best: int | None = None,
        length_penalty: float = LENGTH_PENALTY,
        **options: Unpack[LineOptions],
    ) -> Any:
        """Return the best translations of each text with their scores. The first is the one that ``translate`` gives.

        Args:
            n_best: how many, at most ``beam``; None: all that the beam has. Fewer where the search found no more; an empty
                text has one, which is empty. The others: as in ``translate``, but for ``sample``.
        """
        n_best = beam if n_best is None else n_best
        listed = listed_lines(lines)
        search = checked_search(self, listed, lines, beam, length_penalty, n_best, options)
        if search.as_published:
            raise ConfigError("as_published gives one translation of each line, and has no scores: translate has it.")
        if search.sample is not None:
            raise ConfigError("sample must be None for hypotheses, which a search compares, got a Sampling.")

        def decode(batch: SourceBatch, numbers: Sequence[int]) -> list[list[ScoredIds]]:
            inputs = self.model, batch.source, batch.source_valid_lens, self._steps(batch, numbers, search)
            prefixes, covering = search.prefixes_of(numbers), search.coverage_penalty
            return self.backend.hypotheses(*inputs, beam, length_penalty, n_best, coverage_penalty=covering, prefixes=prefixes)

        def scored(found: Sequence[ScoredIds], number: int) -> list[Hypothesis]:
            line, prefix, tokens = listed[number], search.given_to(number), self.target_vocabulary.tokens
            return [Hypothesis(self._text(line, one.ids, prefix), tokens(one.ids), *one[1:]) for one in found]

        found = self._each(listed, search.first, beam, decode, scored, [NOTHING], lambda found: len(found[0].ids))
        return found[0] if isinstance(lines, str) else found

    def score(self, pairs: Iterable[tuple[str, str]], first: int = 1) -> list[PairScore]:
        """Return the log-probability, in nats, of each (source, target), as ``hypotheses`` gives it; see ``PairScore``.

        What is too long is cut, skipped or refused as ``too_long`` says, on both sides. ``first``: the number of the first
        pair, for errors.

        Raises:
            TokenError: a side that is too long, see ``too_long``; DataError: what is no pair of texts.
        """
        return scored_pairs(self, pairs, first)

    def _each(
        self,
        lines: list[str],
        first: int,
        beam: int,
        decode: Callable[[SourceBatch, Sequence[int]], Sequence[Any]],
        describe: Callable[[Any, int], Result],
        empty: Result,
        length: Callable[[Any], int] = len,
    ) -> list[Result]:
        """Return each line's result in the order of the lines, decoded in batches of similar length."""
        encoded = [self._encoded(line) for line in lines]
        for number, ids in enumerate(encoded, start=first + 1):
            if len(ids) > self.longest:
                self.on_long(number, len(ids))
                if self.too_long == "stop":
                    raise self.length_error(number, len(ids))
        encoded = [self._within(ids) for ids in encoded]
        filled = [number for number, ids in enumerate(encoded) if ids]
        size = max(1, min(self.batch_size, LARGEST // (beam * len(self.target_vocabulary))))
        batches = source_batches(
            [encoded[number] for number in filled], self.source_vocabulary, size, max_len=self.config.max_len
        )
        decoded = [result for batch in batches for result in decode(batch, [filled[row] for row in batch.indices])]
        self.generated += sum(map(length, decoded))
        results = [empty] * len(lines)
        for number, result in zip(filled, restore_order(batches, decoded), strict=True):
            results[number] = describe(result, number)
        return results

    def _steps(self, batch: SourceBatch, numbers: Sequence[int], search: LineSearch) -> Any:
        return search.steps(batch.source_valid_lens, numbers, self.max_steps, self.config.max_len)

    def _text(self, line: str, ids: Sequence[int], prefix: tuple[str, Sequence[int]] | None) -> str:
        """Decode ids, with the words of a prefix as the caller wrote them, and unknown ones as they stand in the source."""
        words = self.target_vocabulary
        unknown = self.replace_unknown and words.unk_id in ids
        written = replaced_unknown(self, line, ids) if unknown else words.decode(ids)
        return written if prefix is None else with_prefix(words, written, *prefix)
