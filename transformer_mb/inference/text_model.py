"""Models that read text and write text, with their vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar

from ..backend import Backend
from ..data.padding import check_limits
from ..data.vocabulary import Vocabulary
from ..decoding.ensemble import as_models, shared_config
from ..decoding.generation_config import GenerationConfig
from ..errors import ConfigError, TokenError
from ..registry import decoding_backend
from .translatable import check_both_sides, loaded_models

TOO_LONG = ("stop", "cut", "skip")
Token = TypeVar("Token", str, int)


class TextModel:
    """A model with its vocabularies, or several models of the same vocabularies, which compute as one.

    Args:
        model: one, or a list: of an ensemble the probabilities of each token are the mean of its models'.
        batch_size: sentences of similar length decoded together.
        max_steps: the longest translation; None takes twice the tokens of its own source and 10 more.
        replace_unknown: an <unk> of a translation becomes the word of the source that its step attended to most: by the mean
            of the last block's heads.
        too_long: what becomes of a line of more tokens than the model has positions (``longest``): ``stop`` raises
            TokenError, ``cut`` translates its first tokens, ``skip`` takes it for an empty one.
        generation: how ``as_published`` decodes; None: no such configuration came with the model.
    Attributes:
        on_long: called with the number, from 1, and the tokens of each line or pair that is too long, before any is
            computed; it may raise an error of its own.
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
        generation: GenerationConfig | None = None,
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
        self.generated = 0  # tokens of all translations so far, without <eos>
        self.on_long: Callable[[int, int], None] = lambda number, count: None
        self.source_vocabulary = source_vocabulary
        self.target_vocabulary = target_vocabulary
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.too_long = too_long
        self.generation = generation

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
    ) -> Self:
        """Load a checkpoint folder with vocabularies, or a list of folders, whose models translate as one.

        Args:
            replace_unknown: as the class does; where the checkpoint suppresses <unk>, it is searched for all the same.
            backend, device, dtype: as ``tmb.load`` takes them; the dtype ``int8`` is ``Backend.quantized``.
            The others: as the class does.
        Raises:
            CheckpointError: no checkpoint, a damaged one, or one without vocabularies. ConfigError: as the class does, and
            for models of other vocabularies.
        """
        framework, int8 = decoding_backend(backend, device, dtype)  # first, since an unknown one is found out at once
        models, vocabularies, generation = loaded_models(framework, folder, int8, replace_unknown)
        return cls(
            framework,
            models,
            *vocabularies,
            batch_size=batch_size,
            max_steps=max_steps,
            too_long=too_long,
            replace_unknown=replace_unknown,
            generation=generation,
        )

    def __repr__(self) -> str:
        """``Translator(numpy, cpu, float32: 120 source tokens, 131 target tokens, lines of at most 29)``."""
        place = ", ".join((self.backend.name, self.backend.device_name, self.backend.dtype))
        sizes = f"{len(self.source_vocabulary):,} source tokens, {len(self.target_vocabulary):,} target tokens"
        several = f"{len(self.models)} models, " if len(self.models) > 1 else ""
        return f"{type(self).__name__}({place}: {several}{sizes}, lines of at most {self.longest})"

    @property
    def longest(self) -> int:
        """The tokens that a line may have; what frames it (<eos>, of most vocabularies) takes the rest of the positions."""
        return self.config.max_len - max(self.source_vocabulary.around, self.target_vocabulary.around)

    def tokens(self, line: str) -> list[str]:
        """Return the tokens of a line as the model gets them, without <eos>."""
        return self._within(self.source_vocabulary.pieces(line) if line.strip() else [])

    def ids(self, line: str) -> list[int]:
        """The ids of those tokens."""
        return self._within(self._encoded(line))

    def _encoded(self, line: str) -> list[int]:
        """A line of blanks alone has nothing to translate, though subwords may write it."""
        return self.source_vocabulary.encode(line) if line.strip() else []

    def _within(self, tokens: list[Token]) -> list[Token]:
        if len(tokens) <= self.longest:
            return tokens
        return tokens[: self.longest] if self.too_long == "cut" else []

    def excess(self, lines: Iterable[str]) -> dict[int, int]:
        """Return the number of tokens of each line that is too long, by the line's number from 0."""
        counts = (len(self._encoded(line)) for line in lines)
        return {number: count for number, count in enumerate(counts) if count > self.longest}

    def length_error(self, number: int, count: int) -> TokenError:
        """The error of a line that is too long; ``number`` is counted from 1."""
        error = TokenError(
            f"Line {number} must be at most {self.longest} tokens long (max_len = {self.config.max_len}, <eos> counted), but "
            f"it has {count}."
        )
        error.line = number
        return error
