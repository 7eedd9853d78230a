"""Text in, text out, in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .backend import Backend
from .data.batching import restore_order, source_batches
from .data.vocabulary import Vocabulary
from .errors import TokenError

EXTRA_STEPS = 10  # the limit is 2 * source + 10, or max_len


class Translator:
    """A model with its vocabularies.

    Args:
        batch_size: sentences of similar length decoded together.
        max_steps: the longest translation; None takes twice the longest source of a batch and a few more, which keeps
            the number of different shapes small.
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
    ):
        self.backend = backend
        self.model = model
        self.source_vocabulary = source_vocabulary
        self.target_vocabulary = target_vocabulary
        self.batch_size = batch_size
        self.max_steps = max_steps

    def translate(self, lines: Sequence[str], beam: int = 1, first_line: int = 1) -> list[str]:
        """One translation for each line; an empty line stays empty. Words that the vocabulary lacks are allowed.

        Args:
            beam: 1 decodes greedily. first_line: the number that a message gives the first line.
        Raises:
            TokenError: a line that is longer than the model's positions, by its number.
        """
        pipeline = self.source_vocabulary.pipeline
        token_lists = [pipeline.encode(line) for line in lines]
        max_len = self.model.config.max_len
        for number, tokens in enumerate(token_lists, start=first_line):
            if len(tokens) >= max_len:  # <eos> is to come
                raise TokenError(
                    f"Line {number} must be at most {max_len - 1} tokens long (max_len = {max_len}, <eos> counted), but it "
                    f"has {len(tokens)}."
                )
        filled = [number for number, tokens in enumerate(token_lists) if tokens]
        batches = source_batches([token_lists[n] for n in filled], self.source_vocabulary, self.batch_size, max_len=max_len)
        decoded = [ids for batch in batches for ids in self._decode(batch.source, batch.source_valid_lens, beam)]
        texts = [""] * len(lines)
        for number, ids in zip(filled, restore_order(batches, decoded), strict=True):
            texts[number] = self.target_vocabulary.decode(ids)
        return texts

    def _decode(self, source: Any, valid_lens: Any, beam: int) -> list[list[int]]:
        max_steps = self.max_steps
        if max_steps is None:
            max_steps = min(self.model.config.max_len, 2 * source.shape[1] + EXTRA_STEPS)
        if beam == 1:
            return self.backend.greedy(self.model, source, valid_lens, max_steps)
        return self.backend.beam(self.model, source, valid_lens, max_steps, beam=beam)
