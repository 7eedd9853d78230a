"""Options of a translation beside beam and length penalty, checked once for all lines of a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from ..call_checks import check_between
from ..config import check_count
from ..decoding.beam_search import check_search
from ..decoding.coverage_penalty import check_coverage_penalty
from ..decoding.generation_config import GenerationConfig
from ..decoding.sampling import Sampling
from ..errors import ConfigError, DataError, TokenError
from ..fields import did_you_mean

RATIO, EXTRA_STEPS = 2.0, 10  # without a limit, a translation has RATIO times its source's tokens, and EXTRA_STEPS more
LARGEST_RATIO = 1000.0


class LineOptions(TypedDict, total=False):
    """
    coverage_penalty: of the beam search: more (up to 10) favors hypotheses that attended to all of the source, see
        ``coverage_penalty.Coverage``. 0 is none.
    sample: a ``Sampling``: tokens are drawn instead; beam must be 1.
    prefixes: text that each translation begins with, for one text a text, for a list a list; an empty one is none. The
        translation holds it, and at least one token more is looked for. That of an empty line stays empty.
    max_ratio: a translation is at most this many times as long as its source, and 10 tokens more; None: twice, unless
        ``max_steps`` is given.
    as_published: decode by the checkpoint's generation_config.json as transformers' ``generate`` does, and by no other option;
        the model's ``max_steps`` takes the place of its longest length.
    first: the number of the first line, from 0, by which ``sample`` draws and errors count.
    """

    coverage_penalty: float
    sample: Sampling | None
    prefixes: Any
    max_ratio: float | None
    as_published: bool
    first: int


@dataclass(frozen=True)
class LineSearch:
    """The options of a call, with the prefixes as ids."""

    coverage_penalty: float = 0.0
    sample: Sampling | None = None
    prefixes: Sequence[Sequence[int]] | None = None
    max_ratio: float | None = None
    as_published: bool = False
    first: int = 0
    texts: Sequence[str] = ()

    def given_to(self, number: int) -> tuple[str, Sequence[int]] | None:
        """The prefix of a line as text and as ids."""
        return None if self.prefixes is None else (self.texts[number], self.prefixes[number])

    def prefixes_of(self, numbers: Sequence[int]) -> list[Sequence[int]] | None:
        return None if self.prefixes is None else [self.prefixes[number] for number in numbers]

    def steps(self, valid_lens: np.ndarray, numbers: Sequence[int], max_steps: int | None, max_len: int) -> np.ndarray:
        """[B]: how long each translation of a batch may become, by its own source and prefix alone."""
        steps = np.full(len(valid_lens), max_len if max_steps is None else max_steps)
        ratio = RATIO if self.max_ratio is None and max_steps is None else self.max_ratio
        if ratio is not None:
            own = (ratio * (valid_lens - 1) + EXTRA_STEPS).astype(np.int64)  # <eos> is no word of the source
            steps = np.minimum(own, steps)
        prefixes = self.prefixes_of(numbers)
        return steps if prefixes is None else np.maximum(steps, [len(prefix) + 1 for prefix in prefixes])


def checked_search(
    translator: Any,
    listed: Sequence[str],
    lines: Any,
    beam: int,
    length_penalty: float,
    n_best: int,
    options: Mapping[str, Any],
) -> LineSearch:
    """Raise ConfigError, DataError or TokenError for what cannot be; ``lines`` as given, ``listed`` as a list."""
    check_search(beam, length_penalty, n_best)
    if unknown := sorted(set(options) - set(LineOptions.__annotations__)):
        known = "beam", "length_penalty", *LineOptions.__annotations__
        hints = "".join(did_you_mean(name, known) for name in unknown)
        raise TypeError(f"The options must be among {', '.join(known)}, got {', '.join(unknown)}.{hints}")
    given = LineSearch(**{name: value for name, value in options.items() if name != "prefixes"})
    check_coverage_penalty(given.coverage_penalty)
    check_count("first", given.first)
    if given.max_ratio is not None:
        check_between("max_ratio", given.max_ratio, 0.0, LARGEST_RATIO)
    if given.sample is not None:
        if not isinstance(given.sample, Sampling):
            raise ConfigError(f"sample must be None or a Sampling, got {given.sample!r:.80}.")
        if beam != 1:
            raise ConfigError(f"beam must be 1 where tokens are drawn, got {beam}.")
    if given.as_published:
        published(translator, beam == n_best == 1 and given == LineSearch(as_published=True, first=given.first))
    prefixes = options.get("prefixes")
    if prefixes is None:
        return given
    texts = [prefixes] if isinstance(lines, str) else prefixes
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts) or len(texts) != len(listed):
        raise DataError(f"prefixes must be a text for one line, and for a list one text per line, got {prefixes!r:.80}.")
    ids = [translator.target_vocabulary.encode(text) for text in texts]
    for number, prefix in enumerate(ids, start=given.first + 1):
        if len(prefix) > translator.longest:
            raise TokenError(
                f"The prefix of line {number} must be at most {translator.longest} tokens long, got {len(prefix)} tokens."
            )
    return replace(given, prefixes=ids, texts=texts)


def published(model: Any, alone: bool) -> GenerationConfig:
    """Return how a TextModel or a Generator decodes ``as_published``; raises ConfigError where nothing says it.

    alone: whether no other option of a search was given.
    """
    if model.generation is None:
        raise ConfigError(
            "as_published (--as-published) needs a checkpoint with generation_config.json, which port makes of a folder of "
            "transformers, but this one has none."
        )
    if not alone:
        raise ConfigError(
            "as_published (--as-published) takes all of the search from generation_config.json and must be given without "
            "beam, penalties, prefixes, sampling and scores, got some."
        )
    steps = model.max_steps
    return model.generation if steps is None else replace(model.generation, max_new_tokens=steps)


def listed_lines(lines: Any) -> list[str]:
    """Return one text, or all of a list, as a list; raises DataError for any other value."""
    if isinstance(lines, str):
        return [lines]
    if not isinstance(lines, Iterable) or isinstance(lines, bytes | bytearray | Mapping | Set):
        raise DataError(f"The lines must be a str or a list of str, got a {type(lines).__name__}.")
    listed = list(lines)
    for number, line in enumerate(listed, start=1):
        if not isinstance(line, str):
            raise DataError(f"The lines must be a str or a list of str, but line {number} is a {type(line).__name__}.")
    return listed
