"""Known differences of backends with their reasons: the only place that says so. Empty is the aim.

Each row is applied as a strict expected failure: what starts to work again fails until its row is gone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Divergence:
    """A known difference of a backend.

    Args:
        backend: its name in the registry.
        case: a cell's whole id, ``model forward: std norm [float32]``, or a test's from its
            file on: ``test_model.py::test_logits[std norm]``.
        kind: ``not yet ours`` (to be written), ``not yet theirs`` (the framework's bug or gap), ``never`` (by design).
        reason: what happens, with the measured figure. link: where the framework's source or issue says so.
    """

    backend: str
    case: str
    kind: str
    reason: str
    link: str


DIVERGENCES: tuple[Divergence, ...] = ()
