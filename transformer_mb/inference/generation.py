"""Text or ids continued by a decoder alone, in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..backend import Backend
from ..checkpoint import read_checkpoint
from ..config import check_count
from ..data.padding import check_limits
from ..data.vocabulary import Vocabulary
from ..decoding.beam_search import LENGTH_PENALTY, ScoredIds, check_search
from ..decoding.generation_config import GenerationConfig
from ..decoding.sampling import Sampling
from ..errors import ConfigError, DataError, TokenError
from ..registry import decoding_backend
from .search_options import published

USUAL_STEPS = 100  # that follow a prompt at most


class Generator:
    """A decoder-only model, with its vocabulary where there is one, that continues prompts.

    Args:
        vocabulary: for prompts that are text; None: prompts are ids alone.
        batch_size: prompts of similar length continued together. max_steps: the most tokens that follow a prompt, None: 100;
            the model has no positions for more than max_len + 1 less the prompt's own. generation: as of ``Translator``.
    Raises:
        ConfigError: an argument that cannot be, or a model with an encoder or without decoder.
    """

    def __init__(
        self,
        backend: Backend,
        model: Any,
        vocabulary: Vocabulary | None = None,
        *,
        batch_size: int = 64,
        max_steps: int | None = None,
        generation: GenerationConfig | None = None,
    ):
        if model.config.architecture != "decoder":
            raise ConfigError(f"Generating needs a model of architecture decoder, got {model.config.architecture}.")
        check_limits(batch_size=batch_size, max_steps=max_steps)
        self.backend, self.model, self.vocabulary = backend, model, vocabulary
        self.batch_size, self.max_steps, self.generation = batch_size, max_steps, generation
        self.longest = USUAL_STEPS if max_steps is None else max_steps

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
    ) -> Generator:
        """Load a checkpoint folder; ``backend``, ``device`` and ``dtype`` as ``Translator.load`` takes them."""
        framework, int8 = decoding_backend(backend, device, dtype)
        checkpoint = read_checkpoint(folder, optimizer=False)
        model = framework.from_weights(checkpoint.config, checkpoint.weights)
        model = framework.quantized(model) if int8 else model
        more: dict[str, Any] = {"batch_size": batch_size, "max_steps": max_steps, "generation": checkpoint.generation}
        return cls(framework, model, checkpoint.target_vocabulary, **more)

    def generate(
        self,
        prompts: Sequence[str] | Sequence[Sequence[int]],
        beam: int = 1,
        length_penalty: float = LENGTH_PENALTY,
        *,
        sample: Sampling | None = None,
        as_published: bool = False,
        first: int = 0,
    ) -> list[Any]:
        """Continue each prompt: a text with text, ids with ids.

        Before a text the model gets ``config.start_id``, or what the vocabulary has before a text. Ids must be as the model was
        trained.

        Args:
            beam, length_penalty: as in ``Translator.translate``. sample: tokens are drawn instead.
            as_published: as in ``LineOptions``. first: the number of the first prompt, by which they are drawn.
        Raises:
            ConfigError, DataError, TokenError: what cannot be, and a prompt of more tokens than there are positions.
        """
        check_search(beam, length_penalty, 1)
        check_count("first", first)
        if sample is not None and beam != 1:
            raise ConfigError(f"beam must be 1 where tokens are drawn, got {beam}.")
        generation = published(self, beam == 1 and sample is None) if as_published else None

        def decode(numbers: Sequence[int], given: tuple[Any, Any, int]) -> list[list[int]]:
            if generation is not None:
                return self.backend.generate(self.model, *given[:2], generation)
            if sample is not None:
                return self.backend.sample(self.model, *given, sample, rows=np.asarray(numbers) + first)
            if beam == 1:
                return self.backend.greedy(self.model, *given)
            return self.backend.beam(self.model, *given, beam, length_penalty)

        texts, ids = self._ids(prompts, first)
        found = self._each(ids, decode)
        return [self.text(one) for one in found] if texts else found

    def hypotheses(
        self,
        prompts: Sequence[str] | Sequence[Sequence[int]],
        beam: int = 4,
        n_best: int | None = None,
        length_penalty: float = LENGTH_PENALTY,
        *,
        first: int = 0,
    ) -> list[list[ScoredIds]]:
        """The ids that may follow each prompt with their scores, the best first, as ``backend.hypotheses`` gives them.

        ``text`` makes a text of them. first: the number of the first prompt, for errors.
        """
        n_best = beam if n_best is None else n_best
        check_search(beam, length_penalty, n_best)

        def decode(numbers: Sequence[int], given: tuple[Any, Any, int]) -> list[list[ScoredIds]]:
            return self.backend.hypotheses(self.model, *given, beam, length_penalty, n_best)

        return self._each(self._ids(prompts, first)[1], decode)

    def text(self, ids: Sequence[int]) -> str:
        """Decode generated ids; raises DataError for a model without vocabulary."""
        if self.vocabulary is None:
            raise DataError("Ids can be made text by a model with a vocabulary, got one without.")
        return self.vocabulary.decode(ids)

    def _ids(self, prompts: Any, first: int = 0) -> tuple[bool, list[list[int]]]:
        """Return whether the prompts are texts, and all of them as ids."""
        if isinstance(prompts, str | bytes) or not isinstance(prompts, Iterable):
            raise DataError(f"The prompts must be a list of texts, or of lists of ids, got {prompts!r:.80}.")
        listed = list(prompts)
        texts = bool(listed) and all(isinstance(prompt, str) for prompt in listed)
        if texts and self.vocabulary is None:
            raise DataError("The prompts must be lists of ids for a model without vocabulary, got texts.")
        if texts:
            encode = self.vocabulary.encode  # type: ignore[union-attr]
            words = self.vocabulary
            before = (self.model.config.start_id,) if words.frame is None else words.opening  # type: ignore[union-attr]
            listed = [[*before, *encode(prompt)] for prompt in listed]
        longest, size = self.model.config.max_len, self.model.config.target_vocab_size
        for number, prompt in enumerate(listed, start=first + 1):
            if isinstance(prompt, str) or not isinstance(prompt, Sequence | np.ndarray) or not len(prompt):
                raise DataError(f"The prompts must all be texts, or all lists of ids, but prompt {number} is {prompt!r:.60}.")
            if len(prompt) > longest:
                raise _refused(number, f"be at most max_len = {longest} tokens long, got {len(prompt)}.")
            for token in prompt:
                if isinstance(token, int) and not 0 <= token < size:
                    raise _refused(number, f"hold token ids from 0 to {size - 1}, got {token}.")
        return texts, [list(prompt) for prompt in listed]

    def _each(self, prompts: Sequence[Sequence[int]], decode: Any) -> list[Any]:
        """Return each prompt's result, in their order. A batch holds prompts of which each may become as long as by itself."""
        results: list[Any] = [None] * len(prompts)
        room = {number: self.model.config.max_len + 1 - len(prompt) for number, prompt in enumerate(prompts)}
        order = sorted(room, key=lambda number: len(prompts[number]))
        batches: list[list[int]] = []
        for number in order:
            same = batches and len(prompts[batches[-1][0]]) == len(prompts[number])
            if batches and len(batches[-1]) < self.batch_size and (same or room[number] >= self.longest):
                batches[-1].append(number)
            else:
                batches.append([number])
        for numbers in batches:
            lens = [len(prompts[number]) for number in numbers]
            fed = np.zeros((len(numbers), max(lens)), np.int64)
            for row, number in zip(fed, numbers, strict=True):
                row[: len(prompts[number])] = prompts[number]
            steps = min(self.longest, *(room[number] for number in numbers))
            for number, result in zip(numbers, decode(numbers, (fed, np.array(lens), steps)), strict=True):
                results[number] = result
        return results


def _refused(number: int, what: str) -> TokenError:
    error = TokenError(f"Prompt {number} must {what}")
    error.line = number
    return error
