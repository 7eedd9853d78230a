"""Inputs of a search: arrays checked once for all backends."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..call_checks import check_max_steps, check_prefixes, check_prompt, check_source
from ..config import TransformerConfig
from ..errors import ConfigError


class DecodingInputs(NamedTuple):
    """Arrays, or a framework's tensors: what a model reads before it produces its first token.

    ``tokens`` [B]: what the first step is fed with. ``source`` [B, S] and ``valid_lens`` [B] are for the encoder.
    A decoder alone has ``prompt`` [B, T] instead, to be fed at once before the first step, None when there is nothing
    before ``tokens``; the first ``left_padding`` [B] steps of a row are no tokens, None when all rows are of one length.
    ``forced`` [B, steps]: the ids that a row's target begins with, -1 from where on it is free; None when all are free.
    ``seeds`` [B, 2]: what each row is drawn by, see ``sampling``; None when nothing is drawn.
    """

    tokens: Any
    source: Any = None
    valid_lens: Any = None
    prompt: Any = None
    left_padding: Any = None
    forced: Any = None
    seeds: Any = None

    @property
    def prompt_steps(self) -> int:
        return 0 if self.prompt is None else self.prompt.shape[1]


def decoding_inputs(
    config: TransformerConfig, source: Any, valid_lens: Any, max_steps: Any, prefixes: Any, call: str
) -> tuple[DecodingInputs, np.ndarray]:
    """The inputs and the number of steps of each row [B] (None: as many as there can be), checked."""
    if config.has_encoder:
        source, valid_lens = check_source(config, source, valid_lens)
        tokens = np.full(source.shape[0], config.start_id)
        limits = check_max_steps(config, max_steps, len(tokens))
        return DecodingInputs(tokens, source, valid_lens, forced=check_prefixes(config, prefixes, limits)), limits
    if config.compat_decode == "d2l":
        raise ConfigError(f"compat_decode must be 'correct' for {call} of a decoder alone, which the book has not, got 'd2l'.")
    prompt, lens = check_prompt(config, source, valid_lens)
    longest = int(lens.max())
    limits = check_max_steps(config, max_steps, len(lens), longest)
    check_prefixes(config, prefixes, limits)
    # Rows end at one column, so that one cache serves all; before a row begins stands its first token, which no query sees.
    padding = longest - lens
    columns = np.maximum(np.arange(longest) - padding[:, None], 0)
    aligned = np.take_along_axis(prompt, columns, axis=1)
    fed = aligned[:, :-1] if longest > 1 else None
    return DecodingInputs(aligned[:, -1], None, None, fed, padding if padding.any() else None), limits


def room(steps: int, most: int) -> int:
    """Return at least ``steps``, to compile for: few different numbers, each at most half larger than the last."""
    power = 1 << max(steps - 1, 7).bit_length()
    return min(power * 3 // 4 if steps <= power * 3 // 4 else power, most)
