"""Prompts of different lengths in one call of a decoder alone: each is continued as far as by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ..call_checks import check_prompt, check_source
from ..config import TransformerConfig

Search = TypeVar("Search", bound=Callable[..., Any])


def continued_apart(search: Search) -> Search:
    """A search of ``Searches`` that continues prompts of one length at a time where a longer one would limit the others."""

    @wraps(search)
    def run(
        self: Any, model: Any, source: Any, source_valid_lens: Any = None, max_steps: Any = None, *more: Any, **options: Any
    ) -> Any:
        config = self._config(model, "decoder", search.__name__)
        groups = rows_by_length(config, source, source_valid_lens, max_steps)
        if groups is None:
            return search(self, model, source, source_valid_lens, max_steps, *more, **options)
        lens = np.asarray(source_valid_lens)
        numbers = options.get("rows")
        found: dict[int, Any] = {}
        for rows in groups:
            length = int(lens[rows[0]])
            steps = None if max_steps is None else np.asarray(max_steps)[rows]
            if search.__name__ == "sample":
                options["rows"] = rows if numbers is None else np.asarray(numbers)[rows]
            results = search(self, model, np.asarray(source)[rows, :length], lens[rows], steps, *more, **options)
            found.update(zip(rows.tolist(), results, strict=True))
        return [found[row] for row in range(len(lens))]

    return run  # type: ignore[return-value]


def rows_by_length(config: TransformerConfig, prompt: Any, valid_lens: Any, max_steps: Any) -> list[np.ndarray] | None:
    """The rows of each length; None where all can go together: they leave the same room, or enough of it."""
    if config.has_encoder or valid_lens is None or (max_steps is not None and np.ndim(max_steps) == 0):
        return None
    lens = check_prompt(config, prompt, valid_lens)[1]
    left = config.max_len + 1 - int(lens.max())
    if len(set(lens.tolist())) == 1 or (max_steps is not None and (len(max_steps) != len(lens) or max(max_steps) <= left)):
        return None
    return [np.flatnonzero(lens == length) for length in np.unique(lens)]


def alike(config: TransformerConfig, source: Any, valid_lens: Any) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    """Rows whose outputs begin at one length, as their numbers, ids and lengths: all of a source, prompts of one length."""
    ids, lens = (check_source if config.has_encoder else check_prompt)(config, source, valid_lens)
    for length in (None,) if config.has_encoder else np.unique(lens):
        rows = np.flatnonzero(lens == length) if length is not None else np.arange(len(lens))
        yield rows.tolist(), ids[rows] if length is None else ids[rows, :length], lens[rows]
