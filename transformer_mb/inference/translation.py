"""Text in, text out, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, Unpack, overload

import numpy as np

from ..backend import Backend
from ..data.batching import SourceBatch, restore_order, source_batches
from ..data.padding import check_limits
from ..data.vocabulary import Vocabulary
from ..decoding.beam_search import LENGTH_PENALTY, ScoredIds
from ..decoding.ensemble import as_models, shared_config
from ..errors import ConfigError, TokenError
from ..registry import decoding_backend
from .scoring import PairScore, scored_pairs
from .search_options import LineOptions, LineSearch, checked_search, listed_lines
from .translatable import check_both_sides, loaded_models
from .written import NOTHING, Hypothesis, replaced_unknown, with_prefix

TOO_LONG = ("stop", "cut", "skip")
Result = TypeVar("Result")


LARGEST = 1 << 26  # numbers that a step of a search has in its rows' vocabularies together; a wide beam has fewer lines at once


class Translator:
    """A model with its vocabularies, or several models of the same vocabularies, which translate as one.

    Args:
        model: one, or a list: of an ensemble the probabilities of each token are the mean of its models'.
        batch_size: sentences of similar length decoded together.
        max_steps: the longest translation; None takes twice the tokens of its own source and 10 more.
        replace_unknown: an <unk> of a translation becomes the word of the source that its step attended to most: by the mean
            of the last block's heads.
        too_long: what becomes of a line of more tokens than the model has positions (``longest``): ``stop`` raises
            TokenError, ``cut`` translates its first tokens, ``skip`` takes it for an empty one.
    Raises:
        ConfigError: an argument that cannot be, or a model of one side alone.
    """

    def __init__(
        self,
        backend: Backend,
        model: Any,
        source_vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        *,
        batch_size: int = 64,
        max_steps: int | None = None,
        too_long: str = "stop",
        replace_unknown: bool = False,
    ):
        if too_long not in TOO_LONG:
            raise ConfigError(f"too_long must be one of {', '.join(TOO_LONG)}, got {too_long!r}.")
        check_limits(batch_size=batch_size, max_steps=max_steps)
        self.models = as_models(model)
        for one in self.models:
            check_both_sides(one.config, "the model is")
        self.backend = backend
        self.model = self.models[0] if len(self.models) == 1 else list(self.models)
        self.config = shared_config([one.config for one in self.models])
        self.replace_unknown = replace_unknown
        self.unended = 0  # translations so far that stopped at their limit, without <eos>
        self._read: dict[str, list[int]] = {}
        self.source_vocabulary = source_vocabulary
        self.target_vocabulary = target_vocabulary
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.too_long = too_long

    @classmethod
    def load(
        cls,
        folder: Any,
        backend: str | Backend | None = None,
        device: Any = None,
        dtype: Any = None,
        *,
        batch_size: int = 64,
        max_steps: int | None = None,
        too_long: str = "stop",
        replace_unknown: bool = False,
    ) -> Translator:
        """From a checkpoint folder with vocabularies, or from a list of folders, whose models translate as one.

        Args:
            replace_unknown: as the class does; where the checkpoint suppresses <unk>, it is found all the same.
            backend, device, dtype: as ``tmb.load`` takes them; the dtype ``int8`` is ``Backend.quantized``.
            The others: as the class does.
        Raises:
            CheckpointError: no checkpoint, a damaged one, or one without vocabularies. ConfigError: as the class does, and
            for models of other vocabularies.
        """
        framework, int8 = decoding_backend(backend, device, dtype)  # first, since an unknown one is found out at once
        models, vocabularies = loaded_models(framework, folder, int8, replace_unknown)
        return cls(
            framework,
            models,
            *vocabularies,
            batch_size=batch_size,
            max_steps=max_steps,
            too_long=too_long,
            replace_unknown=replace_unknown,
        )

    def __repr__(self) -> str:
        """``Translator(numpy, cpu, float32: 120 source tokens, 131 target tokens, lines of at most 29)``."""
        place = ", ".join((self.backend.name, self.backend.device_name, self.backend.dtype))
        sizes = f"{len(self.source_vocabulary):,} source tokens, {len(self.target_vocabulary):,} target tokens"
        several = f"{len(self.models)} models, " if len(self.models) > 1 else ""
        return f"Translator({place}: {several}{sizes}, lines of at most {self.longest})"

    @property
    def longest(self) -> int:
        """The tokens that a line may have; <eos> takes the model's last position."""
        return self.config.max_len - 1

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
        """The translation of one text, or a list of one for each; an empty one stays empty, and unknown words are allowed.

        Args:
            beam: hypotheses of the beam search; 1 decodes greedily.
            length_penalty: 0 orders hypotheses by their probability alone, more (up to 10) favors longer ones.
            options: see ``LineOptions``: coverage_penalty, sample, prefixes, max_ratio, first.
        Raises:
            ConfigError: a beam or a length penalty that cannot be; TokenError: a line that is too long, see ``too_long``;
            DataError: lines that are no text.
        """
        listed = listed_lines(lines)
        search = checked_search(self, listed, lines, beam, length_penalty, 1, options)

        def decode(batch: SourceBatch, numbers: Sequence[int]) -> list[list[int]]:
            limits = self._steps(batch, numbers, search)
            found = searched((self.model, batch.source, batch.source_valid_lens, limits), numbers)
            self.unended += sum(len(ids) == limit for ids, limit in zip(found, limits, strict=True))
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
        """The best translations of each text with their scores, the best first: that which ``translate`` gives.

        Args:
            n_best: how many, at most ``beam``; None: all that the beam has. Fewer where the search found no more; an empty
                text has one, which is empty. The others: as in ``translate``, but for ``sample``.
        """
        n_best = beam if n_best is None else n_best
        listed = listed_lines(lines)
        search = checked_search(self, listed, lines, beam, length_penalty, n_best, options)
        if search.sample is not None:
            raise ConfigError("sample must be None for hypotheses, which a search compares, got a Sampling.")

        def decode(batch: SourceBatch, numbers: Sequence[int]) -> list[list[ScoredIds]]:
            inputs = self.model, batch.source, batch.source_valid_lens, self._steps(batch, numbers, search)
            prefixes, covering = search.prefixes_of(numbers), search.coverage_penalty
            return self.backend.hypotheses(*inputs, beam, length_penalty, n_best, coverage_penalty=covering, prefixes=prefixes)

        def described(found: Sequence[ScoredIds], number: int) -> list[Hypothesis]:
            line, prefix, tokens = listed[number], search.given_to(number), self.target_vocabulary.tokens
            return [Hypothesis(self._text(line, one.ids, prefix), tokens(one.ids), *one[1:]) for one in found]

        found = self._each(listed, search.first, beam, decode, described, [NOTHING])
        return found[0] if isinstance(lines, str) else found

    def score(self, pairs: Iterable[tuple[str, str]], first: int = 1) -> list[PairScore]:
        """The log-probability of each (source, target), as ``hypotheses`` has it of its own; see ``PairScore``.

        What is too long is cut, skipped or refused as ``too_long`` says, on both sides. ``first``: the number of the first
        pair, for errors.

        Raises:
            TokenError: a side that is too long, see ``too_long``; DataError: what is no pair of texts.
        """
        return scored_pairs(self, pairs, first)

    def tokens(self, line: str) -> list[str]:
        """What the model is given of a line, without <eos>."""
        return self._within(self.source_vocabulary.pieces(line) if line.strip() else [])

    def ids(self, line: str) -> list[int]:
        """The ids of those tokens."""
        return self._within(self._encoded(line))

    def _encoded(self, line: str) -> list[int]:
        """A line of blanks alone has nothing to translate, though subwords may write it."""
        if line in self._read:
            return self._read[line]
        return self.source_vocabulary.encode(line) if line.strip() else []

    def _within(self, tokens: list[Result]) -> list[Result]:
        if len(tokens) <= self.longest:
            return tokens
        return tokens[: self.longest] if self.too_long == "cut" else []

    def excess(self, lines: Iterable[str]) -> dict[int, int]:
        """How many tokens each line has that is too long, by its number from 0."""
        listed = list(lines)
        self._read = {line: self._encoded(line) for line in listed}  # who asks this translates them next
        counts = (len(self._read[line]) for line in listed)
        return {number: count for number, count in enumerate(counts) if count > self.longest}

    def length_error(self, number: int, count: int) -> TokenError:
        """The error of a line that is too long; ``number`` is counted from 1."""
        return TokenError(
            f"Line {number} must be at most {self.longest} tokens long (max_len = {self.longest + 1}, <eos> counted), but it "
            f"has {count}."
        )

    def _each(
        self,
        lines: list[str],
        first: int,
        beam: int,
        decode: Callable[[SourceBatch, Sequence[int]], Sequence[Any]],
        describe: Callable[[Any, int], Result],
        empty: Result,
    ) -> list[Result]:
        """Each line's result in the order of the lines, decoded in batches of similar length."""
        encoded = [self._encoded(line) for line in lines]
        for number, ids in enumerate(encoded, start=first + 1):
            if self.too_long == "stop" and len(ids) > self.longest:
                raise self.length_error(number, len(ids))
        encoded = [self._within(ids) for ids in encoded]
        filled = [number for number, ids in enumerate(encoded) if ids]
        size = max(1, min(self.batch_size, LARGEST // (beam * len(self.target_vocabulary))))
        batches = source_batches([encoded[number] for number in filled], self.source_vocabulary, size, max_len=self.longest + 1)
        decoded = [result for batch in batches for result in decode(batch, [filled[row] for row in batch.indices])]
        results = [empty] * len(lines)
        for number, result in zip(filled, restore_order(batches, decoded), strict=True):
            results[number] = describe(result, number)
        return results

    def _steps(self, batch: SourceBatch, numbers: Sequence[int], search: LineSearch) -> Any:
        return search.steps(batch.source_valid_lens, numbers, self.max_steps, self.longest + 1)

    def _text(self, line: str, ids: Sequence[int], prefix: tuple[str, Sequence[int]] | None) -> str:
        """What ids say: with the words of a prefix as they were given, and unknown ones as they stand in the source."""
        words = self.target_vocabulary
        unknown = self.replace_unknown and words.unk_id in ids
        written = replaced_unknown(self, line, ids) if unknown else words.decode(ids)
        return written if prefix is None else with_prefix(words, written, *prefix)
