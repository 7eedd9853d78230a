"""``--length-penalty``, and what is said where nothing that is asked for depends on it."""

from __future__ import annotations

from .reporting import tell


def chosen_length_penalty(given: float | None, beam: int, scores: bool = False) -> float:
    """The length penalty, by default Translator's; a warning where it was given to a greedy search without scores."""
    from ..translation import LENGTH_PENALTY

    if given is not None and beam == 1 and not scores:
        tell("Warning: --length-penalty changes nothing without --beam N: a greedy search compares no hypotheses.")
    return LENGTH_PENALTY if given is None else given
